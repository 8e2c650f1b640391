"""The raw lines of a run's streams, for people and pipes: live, ended, compressed or kept elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from atomic.errors import RunNotFound
from atomic.framing import decode
from atomic.framing.pending import leading_type
from atomic.record.folders import AttemptFolder
from atomic.record.layout import attempt_name
from atomic.record.store import RunStore


def cat(store: RunStore, text: str, types: Collection[str] = ()) -> Iterator[bytes]:
    """The lines of ``RUN`` (all its attempts) or ``RUN/N``, byte for byte as the agent wrote them, each with an LF (one
    is added where the last line of an attempt lacks it). ``types``: only records of these event types.

    Raises RunNotFound (for an attempt that is not there too) before the first line, RecordError, PlaceError.
    """
    attempts = find_attempts(store, text)
    return (line for attempt in attempts for line in _lines(attempt) if not types or _type_of(line) in types)


def find_attempts(store: RunStore, text: str) -> list[AttemptFolder]:
    """The attempts that ``RUN`` or ``RUN/N`` names, RUN being whatever ``RunStore.find`` takes. Raises RunNotFound."""
    name, slash, number = text.partition("/")
    folder = store.find(name)
    attempts = folder.attempts()
    if not slash:
        return attempts
    chosen = [attempt for attempt in attempts if str(attempt.n) == number]
    if not chosen:
        nearest = tuple(f"{folder.run_id}/{attempt.n}" for attempt in attempts)
        hint = f"it has {', '.join(attempt_name(attempt.n) for attempt in attempts)}" if attempts else "it has none yet"
        raise RunNotFound(f"run {folder.run_id} has no attempt {number!r}", hint=hint, run_id=text, nearest=nearest)
    return chosen


def _lines(attempt: AttemptFolder) -> Iterator[bytes]:
    try:
        for line in attempt.lines():
            yield line if line.endswith(b"\n") else line + b"\n"
    except FileNotFoundError:
        return  # its agent has not started


def _type_of(line: bytes) -> str:
    """The event type of a line; empty for what is no record."""
    found = leading_type(line)
    if found:
        return found
    try:
        name = decode(line).get("type")
    except ValueError:
        return ""
    return name if isinstance(name, str) else ""
