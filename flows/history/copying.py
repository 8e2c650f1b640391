"""From records to rows: runs of a store as the history keeps them."""

from __future__ import annotations

from collections.abc import Sequence

from atomic.record import AttemptRecord, RunRecord, RunStore
from atomic.runner.recording import place_of
from atomic.text import Masker
from flows.database.runs import PROMPT_HEAD, Recorded

_BYTES = 4 * PROMPT_HEAD  # of a character, at most


def recorded(
    store: RunStore, run: RunRecord, masker: Masker, attempts: Sequence[AttemptRecord] | None = None
) -> Recorded:
    """What the row of a run says. Without ``attempts`` they are read. Raises RecordError where a file system fails."""
    if attempts is None:
        attempts = store.read_attempts(run)
    head = store.prompt_head(run.run_id, _BYTES).decode("utf-8", "ignore")[:PROMPT_HEAD]
    return Recorded(run, attempts, place_of(store, run.run_id), masker.data(head))
