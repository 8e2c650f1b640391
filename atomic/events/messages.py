"""Messages, the blocks they are made of, and usage."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from atomic.events.base import Text, Wire

UNKNOWN = "unknown"


class Cost(Wire):
    """US dollars."""

    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None
    total: float | None = None


class Usage(Wire):
    """Tokens and dollars of one message."""

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    cache_write_1h: int | None = Field(default=None, alias="cacheWrite1h")
    reasoning: int | None = None  # part of output
    total_tokens: int | None = None
    cost: Cost | None = None


class TextBlock(Wire):
    """Text of a message."""

    type: Literal["text"]
    text: Text
    text_signature: Text | None = None


class ThinkingBlock(Wire):
    """What a model thought."""

    type: Literal["thinking"]
    thinking: Text
    thinking_signature: Text | None = None
    redacted: bool | None = None


class ImageBlock(Wire):
    """A picture, base64."""

    type: Literal["image"]
    data: Text
    mime_type: Text


class ToolCallBlock(Wire):
    """A tool that the model wants to be run."""

    type: Literal["toolCall"]
    id: Text
    name: Text
    arguments: Any = None


class UnknownBlock(Wire):
    """A block of a type that is not known."""


def _known(field: str, names: frozenset[str]) -> Discriminator:
    def name(value: Any) -> str:
        found = value.get(field) if isinstance(value, dict) else getattr(value, field, None)
        return found if isinstance(found, str) and found in names else UNKNOWN

    return Discriminator(name)


Block = Annotated[
    Annotated[TextBlock, Tag("text")]
    | Annotated[ThinkingBlock, Tag("thinking")]
    | Annotated[ImageBlock, Tag("image")]
    | Annotated[ToolCallBlock, Tag("toolCall")]
    | Annotated[UnknownBlock, Tag(UNKNOWN)],
    _known("type", frozenset({"text", "thinking", "image", "toolCall"})),
]

StopReason = Literal["pending", "stop", "length", "toolUse", "error", "aborted", "deferred"]


class UserMessage(Wire):
    """A prompt."""

    role: Literal["user"]
    content: Text | list[Block]
    timestamp: int | None = None  # milliseconds since the epoch, as in all messages


class AssistantMessage(Wire):
    """What a model said. While it is streaming ``stop_reason`` is no proof of anything."""

    role: Literal["assistant"]
    content: list[Block]
    api: Text | None = None
    provider: Text | None = None
    model: Text | None = None
    response_model: Text | None = None
    response_id: Text | None = None
    usage: Usage | None = None
    stop_reason: StopReason | Text | None = None
    raw_stop_reason: Text | None = None
    error_message: Text | None = None
    end_turn: bool | None = None
    diagnostics: list[Any] | None = None
    timestamp: int | None = None


class ToolResultMessage(Wire):
    """What a tool gave back to the model."""

    role: Literal["toolResult"]
    tool_call_id: Text
    tool_name: Text | None = None
    content: Text | list[Block] | None = None
    details: Any = None
    is_error: bool | None = None
    usage: Usage | None = None
    timestamp: int | None = None


class BashExecutionMessage(Wire):
    """A command that the user had run."""

    role: Literal["bashExecution"]
    command: Text | None = None
    output: Text | None = None
    exit_code: int | None = None
    cancelled: bool | None = None
    truncated: bool | None = None
    full_output_path: Text | None = None
    timestamp: int | None = None


class CustomMessage(Wire):
    """A message of an extension."""

    role: Literal["custom"]
    custom_type: Text | None = None
    content: Text | list[Block] | None = None
    display: bool | None = None
    details: Any = None
    timestamp: int | None = None


class BranchSummaryMessage(Wire):
    """What a branch of the conversation that was left came to."""

    role: Literal["branchSummary"]
    summary: Text | None = None
    from_id: Text | None = None
    timestamp: int | None = None


class UnknownMessage(Wire):
    """A message of a role that is not known."""

    role: Text


Message = Annotated[
    Annotated[UserMessage, Tag("user")]
    | Annotated[AssistantMessage, Tag("assistant")]
    | Annotated[ToolResultMessage, Tag("toolResult")]
    | Annotated[BashExecutionMessage, Tag("bashExecution")]
    | Annotated[CustomMessage, Tag("custom")]
    | Annotated[BranchSummaryMessage, Tag("branchSummary")]
    | Annotated[UnknownMessage, Tag(UNKNOWN)],
    _known("role", frozenset({"user", "assistant", "toolResult", "bashExecution", "custom", "branchSummary"})),
]
