"""What the record of one run holds, as far as it can be read: what is missing, torn or still growing is no error."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from atomic.errors import AtomicError, PlaceError, RecordDamaged, RecordError
from atomic.models import ModelRef
from atomic.policy import Attempted, FallbackPolicy, Start, decide
from atomic.record import AttemptFolder, AttemptRecord, AttemptSummary, RunRecord, RunStore
from atomic.record.layout import PACKED_FILE, STREAM_FILE
from atomic.regular import open_regular


@dataclass(frozen=True, slots=True)
class AttemptFound:
    """One attempt. ``record`` is None where ``attempt.json`` cannot be read, ``folder`` where there is none.
    ``stream_bytes`` is the size of the file that the stream is in now, compressed or not; None where there is none."""

    n: int
    summary: AttemptSummary | None = None
    record: AttemptRecord | None = None
    folder: AttemptFolder | None = None
    stream_bytes: int | None = None

    @property
    def model(self) -> str | None:
        """The model that was asked; None for the agent's own."""
        return self.record.model if self.record else self.summary.model if self.summary else None

    @property
    def status(self) -> str | None:
        """None until there is a verdict."""
        return self.record.status if self.record else self.summary.status if self.summary else None

    @property
    def kind(self) -> str | None:
        """The kind of its failure."""
        return self.record.kind if self.record else self.summary.kind if self.summary else None

    @property
    def message(self) -> str:
        """What its verdict says."""
        return self.record.message if self.record else self.summary.message if self.summary else ""


@dataclass(frozen=True, slots=True)
class RunFound:
    """One run. ``problems`` say what could not be read."""

    run_id: str
    place: Path
    record: RunRecord | None
    prompt: bytes | None
    attempts: tuple[AttemptFound, ...]
    problems: tuple[str, ...] = ()

    @property
    def live(self) -> bool:
        """Whether more may come."""
        return self.record is not None and not self.record.ended

    def attempt(self, n: int) -> AttemptFound | None:
        """The attempt of this number."""
        return next((one for one in self.attempts if one.n == n), None)


def find_run(store: RunStore, run_id: str) -> RunFound:
    """All that can be read of a run. ``run_id`` may be anything: what is no whole id becomes no path. Blocks.
    Raises RunNotFound."""
    folder = store.open(run_id)
    problems: list[str] = []
    record: RunRecord | None = None
    prompt: bytes | None = None
    folders: list[AttemptFolder] = []
    try:
        record = folder.read()
    except (RecordError, PlaceError) as error:
        problems.append(error.message)
    try:
        prompt = folder.prompt
    except (RecordError, PlaceError) as error:
        problems.append(error.message)
    try:
        folders = folder.attempts()
    except (RecordError, PlaceError) as error:
        problems.append(error.message)
    summaries = {one.n: one for one in record.attempts} if record else {}
    found = {one.n: _attempt(one, summaries.get(one.n), problems) for one in folders}
    for n, summary in summaries.items():
        found.setdefault(n, AttemptFound(n, summary))
    attempts = tuple(found[n] for n in sorted(found))
    return RunFound(folder.run_id, folder.path, record, prompt, attempts, tuple(problems))


def hop_reason(run: RunRecord, attempts: Sequence[AttemptFound], n: int) -> str | None:
    """Why attempt ``n`` was started, as the run's policy decides on the attempts before it; None where the records do
    not tell, or say otherwise: cooldowns of that time are not in them."""
    try:
        policy = FallbackPolicy.model_validate(run.policy)
        before = [_attempted(one.record) for one in attempts if one.n < n and one.record is not None]
        step = decide(policy, [one for one in before if one is not None], {}, time.time())
    except (AtomicError, ValueError):
        return None
    chosen = next((one for one in attempts if one.n == n), None)
    if chosen is None or len(before) != n - 1 or not isinstance(step, Start):
        return None
    return step.reason if chosen.model == (str(step.model) if step.model else None) else None


def read_head(path: Path, most: int) -> tuple[bytes, int] | None:
    """The first bytes of a file, and its size; None where there is no such file that can be read."""
    try:
        with open_regular(path) as file:
            head = file.read(most)
            return head, max(len(head), path.stat().st_size)
    except OSError:
        return None


def _attempt(folder: AttemptFolder, summary: AttemptSummary | None, problems: list[str]) -> AttemptFound:
    record: AttemptRecord | None = None
    try:
        record = folder.read()
    except (RecordDamaged, PlaceError) as error:
        problems.append(error.message)
    return AttemptFound(folder.n, summary, record, folder, _size(folder))


def _size(folder: AttemptFolder) -> int | None:
    for name in (STREAM_FILE, PACKED_FILE):
        try:
            return (folder.path / name).stat().st_size
        except OSError:
            continue
    return None


def _attempted(record: AttemptRecord) -> Attempted | None:
    if record.verdict is None or record.ended_at is None:
        return None
    model = ModelRef.parse(record.model) if record.model else None
    return Attempted(
        record.n, model, record.verdict, record.ended_at, record.carry, has_session=record.session_file is not None
    )
