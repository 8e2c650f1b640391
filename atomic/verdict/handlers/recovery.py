"""The records of the agent's own recovery: retries, compactions, fallbacks. None of them is an end by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atomic.verdict import fields
from atomic.verdict.answers import full_answer
from atomic.verdict.seen import AnnouncedWait, Seen, WaitKind
from atomic.verdict.signs import Sign, sign

if TYPE_CHECKING:
    from atomic.framing import Record

_CANCELLED_RETRY = "retry cancelled"


def retry_start(seen: Seen, record: Record, at: float) -> None:
    """The agent will ask again after a delay."""
    seen.settled = False
    seen.retries += 1
    seen.retry = sign(record, fields.text(record.data.get("errorMessage")))
    seen.going_on = True
    _wait(seen, WaitKind.RETRY, record, at)


def retry_end(seen: Seen, record: Record, _at: float) -> None:
    """The retries are over. Success proves nothing: it is said, too, when the agent leaves a failed model."""
    seen.wait = None
    seen.going_on = False
    if record.data.get("success") is not False:
        return
    found = sign(record, fields.text(record.data.get("finalError")))
    seen.retry = None
    if found.text.strip().rstrip(".").lower() == _CANCELLED_RETRY:
        seen.retry_cancelled = found
    else:
        _name(seen, found)


def compaction_start(seen: Seen, record: Record, at: float) -> None:
    """The agent shortens its context."""
    seen.settled = False
    seen.compactions += 1
    seen.compacting = True
    _wait(seen, WaitKind.COMPACTION, record, at)


def compaction_end(seen: Seen, record: Record, _at: float) -> None:
    """It is done, or failed. `result` and `errorMessage` are independent of each other, and a start may be missing."""
    data, result = record.data, fields.mapping(record.data.get("result"))
    if result and not seen.compacting:
        seen.compactions += 1
    seen.compacting = False
    seen.compacted = True
    seen.wait = None
    seen.degraded = seen.degraded or result.get("rung") == "fresh"
    if result.get("usage") is not None:
        seen.compaction_spent.add(result.get("usage"))
    seen.going_on = seen.going_on or data.get("willRetry") is True
    found = sign(record, fields.text(data.get("errorMessage")))
    if data.get("midTurn") is True:
        seen.err(found)
    if data.get("unresolvedOverflow") is True:
        seen.overflow, seen.ever_overflow = found, True
        seen.overflow_answer = full_answer(seen)


def summary_scheduled(seen: Seen, record: Record, at: float) -> None:
    """The agent will ask for the summary again after a delay."""
    _wait(seen, WaitKind.SUMMARY_RETRY, record, at)


def summary_started(seen: Seen, record: Record, at: float) -> None:
    """It asks for the summary again."""
    _wait(seen, WaitKind.SUMMARY, record, at)


def summary_finished(seen: Seen, record: Record, at: float) -> None:
    """The summary is there, or given up. Inside a compaction the rest of it is still the provider's time."""
    seen.wait = None
    if seen.compacting:
        _wait(seen, WaitKind.COMPACTION, record, at)


def fallback_start(seen: Seen, record: Record, at: float) -> None:
    """The agent moves to another model by itself."""
    seen.settled = False
    seen.inner_fallbacks += 1
    seen.going_on = True
    seen.retry = None
    seen.last_model = fields.text(record.data.get("to")) or seen.last_model
    _wait(seen, WaitKind.FALLBACK, record, at)


def fallback_end(seen: Seen, record: Record, _at: float) -> None:
    """It has moved back, or found no model that answers."""
    seen.going_on = False
    seen.wait = None
    if record.data.get("success") is False:
        _name(seen, sign(record, fields.text(record.data.get("finalError"))))


def continue_error(seen: Seen, record: Record, _at: float) -> None:
    """The agent could not go on. It may stay silent for ever after that."""
    seen.going_on = False
    seen.wait = None
    _name(seen, sign(record, fields.text(record.data.get("errorMessage"))))


def _name(seen: Seen, found: Sign) -> None:
    if found.text:
        seen.final_error = found
        seen.err(found)


def _wait(seen: Seen, kind: WaitKind, record: Record, at: float) -> None:
    delay = fields.amount(record.data.get("delayMs")) or 0.0
    seen.wait = AnnouncedWait(kind, delay / 1000, at)
