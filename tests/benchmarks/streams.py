"""Streams of any size in the shapes that clients write, made from the recordings."""

from __future__ import annotations

import json
import re
from pathlib import Path

from atomic.framing import open_stream

RECORDINGS = Path(__file__).parent.parent / "recordings"
CUMULATIVE = RECORDINGS / "pi-0.73.1" / "long1000.jsonl"
TODAY = RECORDINGS / "atomic" / "long1000.jsonl"

# A long session's usage has more digits than the recorded one's zeros, and models send more than a word at a time.
_USAGE = (
    b'"usage":{"input":11834,"output":1207,"cacheRead":92160,"cacheWrite":2048,"totalTokens":107249,"cost":'
    b'{"input":0.05917,"output":0.030175,"cacheRead":0.04608,"cacheWrite":0.0128,"total":0.148225}}'
)
# Of the recorded thousand deltas a message: what is measured is the shape of lines, not how often a message ends.
DELTA_REPEATS = 10
_RECORDED_USAGE = re.compile(rb'"usage":\{[^{}]*\{[^{}]*\}\}')
_DELTA = re.compile(rb'"delta":"[^"]*"')


def cumulative(path: Path, size: int) -> Path:
    """Each update repeats the message so far: the recorded session, again and again."""
    with open_stream(CUMULATIVE) as stream:
        return _repeat(path, size, stream.read())


def today(path: Path, size: int) -> Path:
    """A delta and the usage so far: lines of 320 bytes and more."""
    session = _RECORDED_USAGE.sub(_USAGE, _recorded())
    return _repeat(path, size, _longer(_DELTA.sub(b'"delta":"and then the next word "', session)))


def delta_only(path: Path, size: int) -> Path:
    """Nothing but what is new."""
    update = re.compile(rb'^(\{"type":"message_update",)"usage":\{[^{}]*\{[^{}]*\}\},', re.MULTILINE)
    return _repeat(path, size, _longer(update.sub(rb"\1", _recorded())))


def agent_end(path: Path, size: int) -> Path:
    """A session whose last record repeats ``size`` bytes of messages."""
    message = {"role": "assistant", "content": [{"type": "text", "text": "word " * 2000}]}
    return _line(path, size, b'{"type":"agent_end","messages":[', json.dumps(message).encode() + b",", b"{}]}\n")


def tool_result(path: Path, size: int) -> Path:
    """A tool that gave ``size`` bytes of text, as the end of its execution and as the message made of it."""
    text = b"a line of output\\n" * 500
    for head in (
        b'{"type":"tool_execution_end","toolCallId":"call_1","toolName":"bash","result":{"content":[{"type":"text","text":"',
        b'{"type":"message_start","message":{"role":"toolResult","toolCallId":"call_1","content":[{"type":"text","text":"',
        b'{"type":"message_end","message":{"role":"toolResult","toolCallId":"call_1","content":[{"type":"text","text":"',
    ):
        _line(path, size, head, text, b'"}],"isError":false}}\n')
    return path


def _recorded() -> bytes:
    with open_stream(TODAY) as stream:
        return stream.read()


def _longer(session: bytes) -> bytes:
    """The session with its message's deltas written so many times that the other records do not count."""
    lines = session.splitlines(keepends=True)
    deltas = [line for line in lines if b'"type":"text_delta"' in line]
    first = lines.index(deltas[0])
    return b"".join([*lines[:first], *deltas * DELTA_REPEATS, *lines[first + len(deltas) :]])


def _repeat(path: Path, size: int, session: bytes) -> Path:
    with path.open("wb") as file:
        for _ in range(max(1, size // len(session))):
            file.write(session)
    return path


def _line(path: Path, size: int, head: bytes, body: bytes, tail: bytes) -> Path:
    with path.open("ab") as file:
        file.write(head)
        for _ in range(size // len(body)):
            file.write(body)
        file.write(tail)
    return path
