"""From records to rows: runs of a store as the history keeps them."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from atomic.errors import RecordError
from atomic.record import AttemptRecord, RunRecord, RunStore
from atomic.runner.recording import place_of
from atomic.text import Masker
from flows.database import Database
from flows.database.runs import PROMPT_HEAD, Recorded, record_runs

_BYTES = 4 * PROMPT_HEAD  # of a character, at most


def recorded(
    store: RunStore, run: RunRecord, masker: Masker, attempts: Sequence[AttemptRecord] | None = None
) -> Recorded:
    """What the row of a run says. Without ``attempts`` they are read; of one whose own record is missing, there is what
    the run's says. Raises RecordError where a file system fails."""
    if attempts is None:
        attempts = store.read_attempts(run)
    known = {attempt.n: attempt for attempt in attempts}
    for one in run.attempts:
        if one.n not in known:
            said = one.model_dump(exclude={"retry_at"})
            known[one.n] = AttemptRecord(run_id=run.run_id, started_at=run.created_at, **said)
    steps = [known[n] for n in sorted(known)]
    return Recorded(run, steps, place_of(store, run.run_id), head_of(store.prompt_head(run.run_id, _BYTES), masker))


def head_of(prompt: bytes, masker: Masker) -> str:
    """The beginning of a prompt as its row has it."""
    return masker.data(prompt[:_BYTES].decode("utf-8", "ignore")[:PROMPT_HEAD])


def note_running(database: Database, store: RunStore, run_ids: Sequence[str], masker: Masker) -> None:
    """Write what is known of runs that are at work. Raises DatabaseError."""
    found = []
    for run_id in run_ids:
        with contextlib.suppress(RecordError):  # gone, or moved: whoever ends it writes it
            found.append(recorded(store, store.read(run_id), masker))
    record_runs(database, found)
