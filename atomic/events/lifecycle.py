"""Events of a session's life: the header, agent, turn, message and tool."""

from __future__ import annotations

from typing import Any, Literal

from atomic.events.base import Event, Text, Wire
from atomic.events.messages import Block, Message, Usage
from atomic.events.updates import AssistantMessageEvent


class SessionHeader(Event):
    """The first line. ``id`` is the handle for resuming; ``version`` is the session file's, not the stream's. A
    resumed session repeats its original header."""

    type: Literal["session"]
    id: Text
    version: int | None = None
    timestamp: Text | None = None  # ISO 8601
    cwd: Text | None = None
    parent_session: Text | None = None
    internal: Any = None
    workflow: Any = None


class AgentStart(Event):
    """A low-level run begins: one prompt may take several."""

    type: Literal["agent_start"]


class AgentEnd(Event):
    """A low-level run ends. Retry, compaction and fallback are decided afterwards: it is not the end."""

    type: Literal["agent_end"]
    messages: list[Message]


class AgentSettled(Event):
    """The end of the prompt, where the agent says it."""

    type: Literal["agent_settled"]


class AgentContinueError(Event):
    """The agent could not go on by itself."""

    type: Literal["agent_continue_error"]
    source: Text | None = None
    error_message: Text | None = None


class TurnStart(Event):
    """A request to the model begins."""

    type: Literal["turn_start"]


class TurnEnd(Event):
    """A turn ends, its tools included."""

    type: Literal["turn_end"]
    message: Message
    tool_results: list[Message] | None = None


class MessageStart(Event):
    """A message begins."""

    type: Literal["message_start"]
    message: Message


class MessageUpdate(Event):
    """More of a message, in one of three forms: all of it so far (``message``), only what is new, or that and the
    usage so far."""

    type: Literal["message_update"]
    assistant_message_event: AssistantMessageEvent | None = None
    message: Message | None = None
    usage: Usage | None = None
    end_turn: bool | None = None


class MessageEnd(Event):
    """A message is whole."""

    type: Literal["message_end"]
    message: Message


class ToolResult(Wire):
    """What a tool gave, or has given so far. ``is_error`` may say here what the event itself does not."""

    content: list[Block] | None = None
    details: Any = None
    is_error: bool | None = None


class ToolExecutionStart(Event):
    """A tool begins."""

    type: Literal["tool_execution_start"]
    tool_call_id: Text
    tool_name: Text | None = None
    args: Any = None


class ToolExecutionUpdate(Event):
    """What a running tool has given so far."""

    type: Literal["tool_execution_update"]
    tool_call_id: Text
    tool_name: Text | None = None
    args: Any = None
    partial_result: ToolResult | None = None


class ToolExecutionEnd(Event):
    """A tool has ended."""

    type: Literal["tool_execution_end"]
    tool_call_id: Text
    tool_name: Text | None = None
    result: ToolResult | None = None
    is_error: bool | None = None


class BashExecutionUpdate(Event):
    """Output of a command that the user had run."""

    type: Literal["bash_execution_update"]
    id: Text | None = None
    channel: Text | None = None
    delta: Text | None = None
