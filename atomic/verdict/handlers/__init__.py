"""What each type of record tells. The handlers read, and trust nothing; what they learn goes into :class:`Seen`."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import TYPE_CHECKING

from atomic.verdict.handlers import recovery, work
from atomic.verdict.seen import Seen
from atomic.verdict.signs import sign

if TYPE_CHECKING:
    from atomic.framing import Record

Handler = Callable[[Seen, "Record", float], None]

# Types that a stream may open with, or that accompany it: with nothing else in it, no prompt was sent.
_PREAMBLE: dict[str, Handler] = {
    "session": work.session,
    "model_changed": work.model_changed,
    "session_info_changed": work.accompanies,
    "thinking_level_changed": work.accompanies,
    "queue_update": work.accompanies,
    "entry_appended": work.accompanies,
}
_LIFE: dict[str, Handler] = {
    "agent_start": work.agent_start,
    "agent_end": work.agent_end,
    "agent_settled": work.agent_settled,
    "turn_start": work.turn_start,
    "turn_end": work.accompanies,
    "message_start": work.message_start,
    "message_update": work.accompanies,
    "message_end": work.message_end,
    "tool_execution_start": work.tool_start,
    "tool_execution_update": work.accompanies,
    "tool_execution_end": work.tool_end,
    "bash_execution_update": work.accompanies,
    "agent_continue_error": recovery.continue_error,
    "auto_retry_start": recovery.retry_start,
    "auto_retry_end": recovery.retry_end,
    "compaction_start": recovery.compaction_start,
    "compaction_end": recovery.compaction_end,
    "summarization_retry_scheduled": recovery.summary_scheduled,
    "summarization_retry_attempt_start": recovery.summary_started,
    "summarization_retry_finished": recovery.summary_finished,
    "model_fallback_start": recovery.fallback_start,
    "model_fallback_end": recovery.fallback_end,
}
HANDLERS = MappingProxyType(_PREAMBLE | _LIFE)

# So many unknown types tell all there is to tell; a stream of nothing else must not fill the memory.
_MOST_UNKNOWN = 100
_LONGEST_TYPE = 200


def take(seen: Seen, record: Record, at: float) -> None:
    """Take the record in. `at` is when it was read, by the caller's clock."""
    handler = HANDLERS.get(record.type)
    if handler is None:
        if seen.first_unknown is None:
            seen.first_unknown = sign(record, record.type)
        if len(seen.unknown) < _MOST_UNKNOWN:
            seen.unknown.setdefault(record.type[:_LONGEST_TYPE])
        return
    seen.latest = sign(record)
    seen.lifecycle = seen.lifecycle or record.type in _LIFE
    handler(seen, record, at)
