"""The beginning of a line whose end has not arrived yet."""

from __future__ import annotations

import re
from collections.abc import Container

# Passed-over lines longer than this are not kept whole: nothing but their last byte matters.
PASSED_LIMIT = 64 * 1024
# Results of tools and prompts longer than this are clipped: beyond it nobody reads them as an answer.
CLIP_LIMIT = 1024 * 1024
# Lines that begin like nothing JSON are dropped beyond this.
NOISE_LIMIT = CLIP_LIMIT
# What is kept of both ends: enough for ids, names and roles in front, for details, flags and usage at the end.
END_SIZE = 16 * 1024

_TYPE = re.compile(rb'\{"type":"([a-z_]+)"[,}]')
_ROLE = re.compile(rb'\{"type":"message_(?:start|end)","message":\{"role":"(\w+)"')
_CLIPPED_TYPES = frozenset({"tool_execution_start", "tool_execution_end", "entry_appended"})


def leading_type(line: bytes) -> str:
    """The type of a line that begins with it, as agents write it; "" when it does not."""
    found = _TYPE.match(line)
    return found[1].decode() if found else ""


def ends_of(line: bytes) -> tuple[bytes, bytes]:
    """What is kept of a line that is not kept whole."""
    return line[:END_SIZE], line[-END_SIZE:]


def keeps(head: bytes, passed: Container[str], whole: Container[str] | None) -> int | None:
    """Up to how many bytes a line that begins with ``head`` is kept whole; None: however long it is.

    ``passed`` are the types that are passed over, ``whole`` those never to be clipped (None: clip nothing).
    """
    if not head.lstrip(b"\xef\xbb\xbf \t\r").startswith(b"{"):
        return NOISE_LIMIT
    name = leading_type(head)
    if name in passed:
        return PASSED_LIMIT
    if whole is None or name in whole:
        return None
    if name in _CLIPPED_TYPES:
        return CLIP_LIMIT
    role = _ROLE.match(head)
    return CLIP_LIMIT if role and role[1] != b"assistant" else None


class Pending:
    """A line in the making: all of it, or, once it is longer than it is kept, its two ends.

    Of a line in two pieces, which is the usual case, nothing is copied before its end is there.
    """

    __slots__ = ("_buffer", "_head", "_limit", "_passed", "_whole", "offset", "size")

    def __init__(self, passed: Container[str], whole: Container[str] | None) -> None:
        self._passed = passed
        self._whole = whole
        self._clear()

    def _clear(self) -> None:
        self.size = 0
        self.offset = 0  # of its first byte in the stream
        self._buffer: memoryview | bytearray = bytearray()
        self._limit: int | None = PASSED_LIMIT  # of those that are kept least, until it is too long for these
        self._head = b""  # once only the ends are kept

    def add(self, piece: memoryview, offset: int) -> None:
        """More of the line, which goes on behind it; ``offset`` is the piece's place in the stream."""
        if self.size:
            self._add(piece)
        else:
            self.offset = offset
            self.size = len(piece)
            self._buffer = piece
            self._shorten()

    def end(self, piece: memoryview) -> bytes | tuple[bytes, bytes]:
        """The line, this piece being its last; only its two ends when it was too long. Ready for the next one then."""
        line: bytes | tuple[bytes, bytes]
        if self.size + len(piece) <= PASSED_LIMIT:
            line = b"".join((self._buffer, piece))
        else:
            self._add(piece)
            line = (self._head, bytes(self._buffer[-END_SIZE:])) if self._head else bytes(self._buffer)
        self._clear()
        return line

    def _add(self, piece: memoryview) -> None:
        self.size += len(piece)
        if self._head and len(piece) >= END_SIZE:
            self._buffer = bytearray(piece[-END_SIZE:])
            return
        if not isinstance(self._buffer, bytearray):
            self._buffer = bytearray(self._buffer)
        self._buffer += piece
        if not self._head:
            self._shorten()
        elif len(self._buffer) > 4 * END_SIZE:  # not at every small piece: each deletion moves what is left
            del self._buffer[:-END_SIZE]

    def _shorten(self) -> None:
        if self._limit is None or self.size <= self._limit:
            return
        head = bytes(self._buffer[:END_SIZE])
        self._limit = keeps(head, self._passed, self._whole)
        if self._limit is not None and self.size > self._limit:
            self._head = head
            self._buffer = bytearray(self._buffer[-END_SIZE:])
