"""Writing the stream: one JSON object a line, each written at once, in the form of one of the real clients."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Literal, NamedTuple

Json = dict[str, Any]
Form = Literal["today", "delta", "cumulative"]
STDOUT = 1


class Style(NamedTuple):
    """How the client that is played writes. The defaults are the present agent's."""

    form: Form = "today"  # of message_update: delta and usage, delta alone, or the whole message each time
    settles: bool = True  # says agent_settled
    failure_exit: int = 1  # its exit code when the last message is an error


def encode(record: Json) -> bytes:
    """One line as the agent writes it: U+2028 and the like raw, lone surrogates as escapes."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode(errors="backslashreplace") + b"\n"


def complain(text: str) -> None:
    """Say something on stderr."""
    sys.stderr.write(f"{text}\n")


class Wire:
    """The agent's standard output, unbuffered: what was written stays written when the agent is killed."""

    def __init__(self, style: Style) -> None:
        self.style = style

    def raw(self, data: bytes) -> None:
        """Write these bytes as they are."""
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(STDOUT, rest) :]

    def emit(self, kind: str, **fields: Any) -> None:
        """Write one event."""
        self.raw(encode({"type": kind, **fields}))

    def update(self, event: Json, message: Json) -> None:
        """Write a message_update in the client's form. `message` is the assistant message as it stands."""
        match self.style.form:
            case "today":
                self.emit("message_update", usage=message["usage"], assistantMessageEvent=event)
            case "delta":
                self.emit("message_update", assistantMessageEvent=event)
            case "cumulative":
                self.emit("message_update", assistantMessageEvent={**event, "partial": message}, message=message)
