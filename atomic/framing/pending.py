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
    """A line in the making: all of it, or, once it is longer than it is kept, its two ends."""

    __slots__ = ("_head", "_passed", "_whole", "buffer", "limit", "offset", "size")

    def __init__(self, passed: Container[str], whole: Container[str] | None) -> None:
        self._passed = passed
        self._whole = whole
        self.clear()

    def clear(self) -> None:
        """Make ready for the next line."""
        self.buffer = bytearray()
        self.size = 0
        self.offset = 0
        self.limit: int | None = PASSED_LIMIT  # of the class that is kept least, until it is too long for it
        self._head = b""

    def add(self, piece: memoryview, offset: int) -> None:
        """More of the line; ``offset`` is the piece's place in the stream."""
        if not self.size:
            self.offset = offset
        self.size += len(piece)
        if self._head:
            if len(piece) >= END_SIZE:
                self.buffer[:] = piece[-END_SIZE:]
                return
            self.buffer += piece
            if len(self.buffer) > 4 * END_SIZE:  # not at every small piece: each deletion moves what is left
                del self.buffer[:-END_SIZE]
            return
        self.buffer += piece
        if self.limit is not None and self.size > self.limit:
            head = bytes(self.buffer[:END_SIZE])
            self.limit = keeps(head, self._passed, self._whole)
            if self.limit is not None and self.size > self.limit:
                self._head = head
                del self.buffer[:-END_SIZE]

    def ends(self) -> tuple[bytes, bytes] | None:
        """The two ends of a line that was not kept whole; None when it was."""
        return (self._head, bytes(self.buffer[-END_SIZE:])) if self._head else None
