"""Bytes of one line → the JSON object in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import orjson

BOM = b"\xef\xbb\xbf"

# Every `type` a stream is known to carry. Only these are looked for inside broken lines: content blocks and session
# entries are objects with a `type` too, and a piece of a record must not pass for one.
WIRE_TYPES = frozenset(
    {
        "session",
        "agent_start",
        "agent_end",
        "agent_settled",
        "agent_continue_error",
        "turn_start",
        "turn_end",
        "message_start",
        "message_update",
        "message_end",
        "tool_execution_start",
        "tool_execution_update",
        "tool_execution_end",
        "bash_execution_update",
        "entry_appended",
        "queue_update",
        "session_info_changed",
        "model_changed",
        "thinking_level_changed",
        "compaction_start",
        "compaction_end",
        "auto_retry_start",
        "auto_retry_end",
        "summarization_retry_scheduled",
        "summarization_retry_attempt_start",
        "summarization_retry_finished",
        "model_fallback_start",
        "model_fallback_end",
    }
)

_OBJECT_START = re.compile(rb'\{"type":"([a-z_]+)"')
# A broken line may hold many beginnings and no end; reading from each of them would be quadratic.
_SALVAGE_TRIES = 16


def decode(line: bytes) -> dict[str, Any]:
    """The JSON object of a line. orjson reads it, or, where that refuses (lone surrogates), the standard library.

    Raises ValueError when the line is not JSON, or JSON but not an object.
    """
    try:
        data = orjson.loads(line)
    except orjson.JSONDecodeError:
        try:
            data = json.loads(line.decode("utf-8", "surrogatepass"))
        except RecursionError as error:
            raise ValueError("nested too deeply") from error
    if not isinstance(data, dict):
        raise ValueError("not an object")  # noqa: TRY004 - to callers it is one thing: no record
    return data


def is_whole(line: bytes) -> bool:
    """Whether the line is a JSON object from its first byte to its last."""
    try:
        decode(line)
    except ValueError:
        return False
    return True


def salvage(line: bytes) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """The whole records of known type inside a line that is no JSON itself: start, end and object of each.

    Such lines come from a record that was cut and another that was written right behind it, and from programs that
    print without a line end.
    """
    decoder = json.JSONDecoder()
    position = tries = 0
    while tries < _SALVAGE_TRIES and (found := _OBJECT_START.search(line, position)):
        position = found.end()
        if found[1].decode() not in WIRE_TYPES:
            continue
        tries += 1
        text = line[found.start() :].decode("utf-8", "surrogateescape")
        try:
            data, length = decoder.raw_decode(text)
        except (ValueError, RecursionError):
            continue
        position = found.start() + len(text[:length].encode("utf-8", "surrogateescape"))
        yield found.start(), position, data
