"""The records of the work itself: session, agent, turns, messages, tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from atomic.verdict import fields
from atomic.verdict.answers import starts_over
from atomic.verdict.seen import OpenTool, Seen
from atomic.verdict.signs import model_name, said, sign

if TYPE_CHECKING:
    from atomic.framing import Record


def accompanies(_seen: Seen, _record: Record, _at: float) -> None:
    """It repeats or accompanies; the verdict does not need it."""


def session(seen: Seen, record: Record, _at: float) -> None:
    """The header. A resumed session repeats its original one."""
    seen.session_id = fields.text(record.data.get("id")) or seen.session_id


def model_changed(seen: Seen, record: Record, _at: float) -> None:
    """The model for what comes next; it is no sign that it will answer."""
    seen.last_model = model_name(fields.mapping(record.data.get("model"))) or seen.last_model


def agent_start(seen: Seen, _record: Record, _at: float) -> None:
    """A low-level run begins: the errors of the one before are settled, whatever they were."""
    seen.begin()
    seen.agent_starts += 1
    seen.errors.clear()
    seen.going_on = False


def agent_end(seen: Seen, _record: Record, _at: float) -> None:
    """A low-level run is over. Whether the prompt is, comes later."""
    seen.agent_ends += 1


def agent_settled(seen: Seen, record: Record, _at: float) -> None:
    """The prompt is over."""
    seen.settled = seen.ever_settled = True
    seen.settled_aborted = record.data.get("aborted") is True
    seen.going_on = seen.compacting = seen.resumed = False
    seen.wait = None
    seen.open_tools.clear()


def turn_start(seen: Seen, _record: Record, _at: float) -> None:
    """A call to the model, and the tools it asks for."""
    seen.begin()
    seen.turns += 1


def message_start(seen: Seen, record: Record, _at: float) -> None:
    """A message opens. Until it has ended it says nothing, whatever its stop reason."""
    message = fields.mapping(record.data.get("message"))
    if message.get("role") != "assistant":
        return
    seen.begin()
    stop = fields.text(message.get("stopReason"))
    seen.modern = seen.modern or stop == "pending"
    seen.opened = sign(record, stop)
    _at_work(seen, message)


def message_end(seen: Seen, record: Record, _at: float) -> None:
    """A message is whole."""
    message = fields.mapping(record.data.get("message"))
    match message.get("role"):
        case "assistant":
            _assistant(seen, record, message)
        case "user":
            seen.prompted, seen.settled = True, False
            seen.overflow_answer = seen.final_error = seen.retry = seen.retry_cancelled = None
        case "toolResult":
            call = fields.text(message.get("toolCallId"))
            seen.open_tools.pop(call, None)
            seen.results[call] = fields.block_text(message.get("content"))
            if message.get("usage") is not None:
                seen.spent.add(message["usage"])
        case _:
            pass


def _assistant(seen: Seen, record: Record, message: Mapping[str, Any]) -> None:
    found, before = said(record, message), seen.last
    goes_on = before is not None and before.stop == "length" and found.stop in {"stop", "length"}
    if before is None or not goes_on or seen.prompted or seen.compacted or starts_over(seen, before, found.text):
        seen.pieces.clear()
    else:
        seen.pieces.append(before.text)
    seen.last = found
    seen.opened = seen.retry = seen.retry_cancelled = seen.final_error = seen.wait = None
    seen.prompted = seen.resumed = seen.settled = seen.going_on = seen.compacted = False
    seen.results.clear()
    seen.spent.add(message.get("usage"))
    _at_work(seen, message)
    if found.clean:
        seen.overflow = seen.overflow_answer = None
    if found.stop == "error":
        seen.err(found.at)


def _at_work(seen: Seen, message: Mapping[str, Any]) -> None:
    seen.last_model = model_name(message) or seen.last_model
    seen.first_model = seen.first_model or seen.last_model


def tool_start(seen: Seen, record: Record, at: float) -> None:
    """A tool runs."""
    seen.tool_calls += 1
    name = fields.text(record.data.get("toolName"))
    seen.open_tools[fields.text(record.data.get("toolCallId"))] = OpenTool(name, at)


def tool_end(seen: Seen, record: Record, _at: float) -> None:
    """A tool is done. Where the tool itself says that it failed, the event may not: both places count."""
    call, result = fields.text(record.data.get("toolCallId")), fields.mapping(record.data.get("result"))
    seen.open_tools.pop(call, None)
    if record.data.get("isError") is True or result.get("isError") is True:
        seen.failed_tool_calls += 1
    seen.results.setdefault(call, fields.block_text(result.get("content")))
