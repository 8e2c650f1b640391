"""The pieces in which a message arrives: ``assistantMessageEvent`` of a ``message_update``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Tag

from atomic.events.base import Text, Wire
from atomic.events.messages import UNKNOWN, AssistantMessage, ToolCallBlock


class Piece(Wire):
    """``content_index`` says which block of the message; ``partial``, in the old cumulative form, is all of it so
    far."""

    content_index: int | None = None
    partial: AssistantMessage | None = None


class Start(Piece):
    """The message begins."""

    type: Literal["start"]


class BlockStart(Piece):
    """A block begins."""

    type: Literal["text_start", "thinking_start"]


class BlockDelta(Piece):
    """More of a block; of a tool call's arguments it is JSON in pieces."""

    type: Literal["text_delta", "thinking_delta", "toolcall_delta"]
    delta: Text


class BlockEnd(Piece):
    """A block is whole."""

    type: Literal["text_end", "thinking_end"]
    content: Text | None = None


class ToolCallStart(Piece):
    """A tool call begins."""

    type: Literal["toolcall_start"]
    id: Text | None = None
    tool_name: Text | None = None


class ToolCallEnd(Piece):
    """A tool call is whole."""

    type: Literal["toolcall_end"]
    tool_call: ToolCallBlock | None = None


class Done(Piece):
    """The message is whole."""

    type: Literal["done"]
    reason: Text | None = None
    message: AssistantMessage | None = None


class Failed(Piece):
    """The message ends in an error."""

    type: Literal["error"]
    reason: Text | None = None
    error: AssistantMessage | Text | None = None


class UnknownPiece(Wire):
    """A piece of a type that is not known."""


_KINDS = {
    "start": "start",
    "text_start": "block_start",
    "thinking_start": "block_start",
    "text_delta": "delta",
    "thinking_delta": "delta",
    "toolcall_delta": "delta",
    "text_end": "block_end",
    "thinking_end": "block_end",
    "toolcall_start": "call_start",
    "toolcall_end": "call_end",
    "done": "done",
    "error": "error",
}


def _kind(value: object) -> str:
    found = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return _KINDS.get(found, UNKNOWN) if isinstance(found, str) else UNKNOWN


AssistantMessageEvent = Annotated[
    Annotated[Start, Tag("start")]
    | Annotated[BlockStart, Tag("block_start")]
    | Annotated[BlockDelta, Tag("delta")]
    | Annotated[BlockEnd, Tag("block_end")]
    | Annotated[ToolCallStart, Tag("call_start")]
    | Annotated[ToolCallEnd, Tag("call_end")]
    | Annotated[Done, Tag("done")]
    | Annotated[Failed, Tag("error")]
    | Annotated[UnknownPiece, Tag(UNKNOWN)],
    Discriminator(_kind),
]
