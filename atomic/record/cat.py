"""The raw lines of a run's streams, for people and pipes: live, ended, compressed or kept elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from atomic.errors import RunNotFound
from atomic.framing import decode
from atomic.framing.pending import leading_type
from atomic.record.folders import AttemptFolder, RunFolder
from atomic.record.layout import attempt_name
from atomic.record.store import RunStore


def find_attempts(store: RunStore, text: str) -> tuple[RunFolder, list[AttemptFolder]]:
    """The run, and those of its attempts, that ``RUN`` or ``RUN/N`` names, RUN being whatever ``RunStore.find`` takes.
    Raises RunNotFound."""
    name, slash, number = text.partition("/")
    folder = store.find(name)
    attempts = folder.attempts()
    if not slash:
        return folder, attempts
    chosen = [attempt for attempt in attempts if str(attempt.n) == number]
    if not chosen:
        nearest = tuple(f"{folder.run_id}/{attempt.n}" for attempt in attempts)
        hint = f"it has {', '.join(attempt_name(attempt.n) for attempt in attempts)}" if attempts else "it has none yet"
        raise RunNotFound(f"run {folder.run_id} has no attempt {number!r}", hint=hint, run_id=text, nearest=nearest)
    return folder, chosen


def lines_of(attempt: AttemptFolder) -> Iterator[bytes]:
    """Its lines, byte for byte as the agent wrote them, each with an LF (one is added where the last lacks it); none
    where its agent has not started. Raises RecordError, PlaceError."""
    try:
        for line in attempt.lines():
            yield line if line.endswith(b"\n") else line + b"\n"
    except FileNotFoundError:
        return


def type_of(line: bytes) -> str:
    """The event type of a line; empty for what is no record."""
    found = leading_type(line)
    if found:
        return found
    try:
        name = decode(line).get("type")
    except ValueError:
        return ""
    return name if isinstance(name, str) else ""
