"""What the fold keeps of a record: the sign it read, where it stood, and of an assistant message what decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from atomic.verdict import fields

if TYPE_CHECKING:
    from atomic.framing import Record

# Error texts hold a sentence, or a provider's JSON of some KiB; a text of megabytes is not kept for its first words.
LONGEST_SIGN = 8_000


@dataclass(frozen=True, slots=True)
class Sign:
    """A record that says something: its event type, line (from 1), byte offset, and the text that was read."""

    event: str
    line: int
    offset: int
    text: str = ""


def sign(record: Record, text: str = "") -> Sign:
    """The record as a sign."""
    return Sign(record.type, record.line, record.offset, text[:LONGEST_SIGN])


@dataclass(frozen=True, slots=True)
class Said:
    """An assistant message that has ended."""

    at: Sign
    stop: str  # stopReason; "" where the message has none
    raw_stop: str
    text: str
    error: str
    causes: tuple[tuple[str, str | int | None], ...]  # (text, code) of its diagnostics, in their order
    model: str | None
    response_model: str | None
    tool_calls: tuple[str, ...]
    more_to_come: bool  # the provider said that the model had not ended its turn
    said_at: float | None  # seconds since the epoch, by the agent's clock: when the request began
    output: int  # tokens; 0 beside a text means that the provider counted nothing

    @property
    def runs_tools(self) -> bool:
        """Whether the agent had tools to run after it. The calls count, whatever the stop reason says."""
        return self.stop == "toolUse" or (self.stop == "stop" and bool(self.tool_calls))

    @property
    def clean(self) -> bool:
        """Whether the model spoke without error or cut."""
        return self.stop in {"stop", "toolUse"}


def said(record: Record, message: Mapping[str, Any]) -> Said:
    """What the assistant `message` of a ``message_end`` says."""
    content = message.get("content")
    error = fields.text(message.get("errorMessage"))[:LONGEST_SIGN]
    stop = fields.text(message.get("stopReason"))
    began = fields.amount(message.get("timestamp"))
    return Said(
        at=sign(record, error or stop),
        stop=stop,
        raw_stop=fields.text(message.get("rawStopReason"))[:LONGEST_SIGN],
        text=fields.block_text(content),
        error=error,
        causes=tuple(_causes(message.get("diagnostics"))),
        model=model_name(message),
        response_model=fields.text(message.get("responseModel")) or None,
        tool_calls=tuple(
            fields.text(block.get("id")) for block in fields.mappings(content) if block.get("type") == "toolCall"
        ),
        more_to_come=message.get("endTurn") is False,
        said_at=began / 1000 if began else None,
        output=fields.count(fields.mapping(message.get("usage")).get("output")),
    )


def _causes(diagnostics: object) -> Iterator[tuple[str, str | int | None]]:
    for diagnostic in fields.mappings(diagnostics):
        error = fields.mapping(diagnostic.get("error"))
        code = error.get("code")
        text = fields.text(error.get("message"))[:LONGEST_SIGN]
        if text or code:
            yield text, code if isinstance(code, str | int) else None


def model_name(message: Mapping[str, Any]) -> str | None:
    """``provider/id`` of a message (its ``model`` is the id) or of a model (its ``id`` is)."""
    provider, name = fields.text(message.get("provider")), fields.text(message.get("model") or message.get("id"))
    return f"{provider}/{name}" if provider and name else name or None
