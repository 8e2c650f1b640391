"""What the head and the tail of a huge line tell about it, its middle being gone.

A quote inside a JSON string is always escaped. So every quote before which an even number of backslashes stands is a
string's border, and, counted back from the end of a whole line, it is certain for every byte of the tail whether it
is inside a string. Text in a tool's output cannot pass for a field of the record, whatever it says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from atomic.framing.decode import decode

_QUOTE = re.compile(rb'(?<!\\)(\\*)"')
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s"{}\[\]:,]+', re.DOTALL)
# Where the tail begins inside a run of backslashes nobody knows whether the quote behind it is escaped.
_UNSURE = re.compile(rb'\\*"?')


def clip(head: bytes, tail: bytes) -> dict[str, Any]:
    """The record that begins with ``head`` and ends with ``tail``, as far as both hold it.

    Kept are the whole members of the record, and those of the one member (``result``, ``message``) that the missing
    middle belongs to. Raises ValueError when a piece is not of a JSON object.
    """
    front = _members(_without_cut_string(head), depth=0)
    own, inner = members_of_tail(tail)
    data = front.own | own
    if front.cut_key is not None and front.cut_key not in data:
        data[front.cut_key] = front.inner | inner
    return data


def members_of_head(head: bytes) -> dict[str, Any]:
    """The record's own members that are whole in its first bytes. Raises ValueError when they are no JSON object's."""
    return _members(_without_cut_string(head), depth=0).own


def members_of_tail(tail: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """The members that are whole in the last bytes of a record: its own, and those of the value that the cut goes
    through. Raises ValueError when they are no JSON object's."""
    if unsure := _UNSURE.match(tail):
        tail = tail[unsure.end() :]
    borders = _string_borders(tail)
    if len(borders) % 2:
        tail = tail[borders[0] + 1 :]  # it begins inside a string
    tokens = _TOKEN.findall(tail)
    closed = sum(token in (b"}", b"]") for token in tokens)
    opened = sum(token in (b"{", b"[") for token in tokens)
    found = _members(tail, depth=closed - opened)
    return found.own, found.inner


def _without_cut_string(head: bytes) -> bytes:
    borders = _string_borders(head)
    return head[: borders[-1]] if len(borders) % 2 else head


def _string_borders(piece: bytes) -> list[int]:
    return [found.end() - 1 for found in _QUOTE.finditer(piece) if len(found[1]) % 2 == 0]


@dataclass(slots=True)
class _Members:
    """Members that are whole in a piece of a record: its own, and those of the value that the cut goes through."""

    own: dict[str, Any] = field(default_factory=dict)
    inner: dict[str, Any] = field(default_factory=dict)
    cut_key: str | None = None  # of a head: the own member whose value, an object, is cut


def _members(piece: bytes, *, depth: int) -> _Members:
    """``depth``: how many containers are open where the piece begins; 0 for a head, whose end is cut."""
    found = _Members()
    is_head = depth == 0
    inside_cut = depth >= 2  # of a tail: still in the value that was open where it begins
    keys: dict[int, str] = {}
    values: dict[int, int] = {}  # where the value of the key at that depth begins
    before = b""
    for match in _TOKEN.finditer(piece):
        token = match[0]
        if token in (b"}", b"]", b","):
            if depth in keys:
                key, start = keys.pop(depth), values.pop(depth)
                if depth == 1:
                    found.own[key] = _value(piece[start : match.start()])
                elif depth == 2 and (is_head or inside_cut):
                    found.inner[key] = _value(piece[start : match.start()])
            if token != b",":
                depth -= 1
                inside_cut = inside_cut and depth >= 2
        elif token in (b"{", b"["):
            depth += 1
            if depth == 2 and is_head:
                found.inner = {}
                found.cut_key = keys.get(1) if token == b"{" else None
        elif token == b":":
            keys[depth] = _value(before)
            values[depth] = match.end()
        before = token
    if is_head and depth < 2:
        found.cut_key = None
    return found


def _value(text: bytes) -> Any:
    return decode(b'{"v":' + text + b"}")["v"]
