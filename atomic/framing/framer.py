"""Bytes → records: the one place where a stream is cut into lines.

Most bytes of a stream are updates that repeat what a later record says. They are recognised by how their line begins,
counted and passed over. Where lines are long, one ``find`` and one ``startswith`` a line do that; where they are
short, whole chunks are compared at once. The last chunk's density says which.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from io import BytesIO
from operator import countOf, itemgetter
from typing import Any

from atomic.framing.decode import is_whole
from atomic.framing.facts import Damage, Record
from atomic.framing.pending import PASSED_LIMIT, Pending
from atomic.framing.sorting import Sorter

_UPDATE = b'{"type":"message_update",'
_PAST_UPDATE = b'{"type":"message_update-'  # the least bytes that are greater than all that begin with _UPDATE
_BETWEEN_UPDATES = b"}\n" + _UPDATE
_NO_LINE = b"\0"  # no line begins so: damage is taken out before
_CLOSE = ord("}")
_before_lf = itemgetter(-2)

_DENSE = 2048  # bytes a line; shorter ones are looked at many at once
_DENSEST = 200  # bytes a line; where they are shorter, one search over all costs less than a look at each
_BLOCK = 128 * 1024  # bytes of short lines looked at together; one odd line makes only these be looked at one by one

_NULS = re.compile(rb"\0+")


class Framer:
    """Cuts a stream into records. Feed it bytes as they come; any cut of them gives the same records.

    By default the bodies of ``message_update``, ``tool_execution_update``, ``turn_end`` and ``agent_end`` are passed
    over: the first two are only counted, of the others a record tells the place. ``subscribe`` names types to be
    decoded and returned whole all the same; ``keep_all`` does so with every type.
    """

    def __init__(self, *, subscribe: Collection[str] = (), keep_all: bool = False) -> None:
        self._sorter = sorter = Sorter(subscribe=subscribe, keep_all=keep_all)
        self.stats = sorter.stats
        self._pending = Pending(sorter.passed, sorter.whole)
        self._passes_updates = "message_update" in sorter.passed
        self._dense = False  # whether the last chunk's lines were short

    def feed(self, chunk: bytes) -> list[Record]:
        """The records that are whole with these bytes."""
        self._sorter.out = []
        if 0 in chunk:
            self._feed_damaged(chunk)
        elif chunk:
            self._feed(chunk)
        return self._sorter.out

    def close(self) -> list[Record]:
        """The end of the stream: a last line without LF is a record when it is whole, else it is torn."""
        self._sorter.out = []
        size, offset = self._pending.size, self._pending.offset
        if size:
            line = self._pending.end(memoryview(b""))
            if isinstance(line, bytes) and is_whole(line):
                self._sorter.take(line, offset)
            elif isinstance(line, tuple) or line.strip():
                self.stats.torn = size
            self.stats.lines += 1
        self._sorter.make_sure()
        self._sorter.sample_usage()  # the last word on a message that never ends
        return self._sorter.out

    def sample_usage(self) -> dict[str, Any] | None:
        """The cumulative ``usage`` of the message now streaming, as its latest update tells it; None between messages
        and where updates do not tell. It is read when asked for: ask a few times a second at most."""
        return self._sorter.sample_usage()

    def _feed(self, chunk: bytes) -> None:
        """Bytes without NUL."""
        base = self.stats.bytes
        self.stats.bytes += len(chunk)
        start = 0
        if self._pending.size:
            end = chunk.find(b"\n")
            if end < 0:
                self._pending.add(memoryview(chunk), base)
                return
            self._end_pending(memoryview(chunk)[:end], lf=True)
            start = end + 1
        stop = chunk.rfind(b"\n") + 1
        if stop > start:
            lines = self.stats.lines
            if self._dense:
                self._cut_dense(chunk, start, stop, base)
            else:
                self._cut_sparse(chunk, start, base)
            self._dense = self._passes_updates and stop - start < _DENSE * (self.stats.lines - lines)
        if stop < len(chunk):
            self._pending.add(memoryview(chunk)[max(start, stop) :], base + max(start, stop))

    def _feed_damaged(self, chunk: bytes) -> None:
        """A block of NUL bytes ends what stands before it; what follows it is read as if it began a line."""
        start = 0
        for block in _NULS.finditer(chunk):
            if block.start() > start:
                self._feed(chunk[start : block.start()])
            if self._pending.size:
                self._end_pending(memoryview(b""), lf=False)
            self._note_damage(self.stats.bytes, len(block[0]))
            self.stats.bytes += len(block[0])
            start = block.end()
        if start < len(chunk):
            self._feed(chunk[start:])

    def _note_damage(self, offset: int, size: int) -> None:
        damage = self.stats.damage
        if damage and damage[-1].offset + damage[-1].size == offset:
            damage[-1] = Damage(damage[-1].offset, damage[-1].size + size)
        else:
            damage.append(Damage(offset, size))

    def _end_pending(self, piece: memoryview, *, lf: bool) -> None:
        """The line that came in pieces is whole with this one: by its LF, or cut off by damage."""
        pending = self._pending
        size, offset = pending.size + len(piece), pending.offset
        line = pending.end(piece)
        if isinstance(line, tuple):
            self._sorter.take_huge(*line, size, offset)
        elif lf and self._passes_updates and size <= PASSED_LIMIT and line.startswith(_UPDATE) and line[-1] == _CLOSE:
            self._sorter.pass_updates(1, offset, line, 0, size, offset)
            return
        else:
            self._sorter.take(line, offset)
        self.stats.lines += lf

    def _cut_sparse(self, chunk: bytes, start: int, base: int) -> None:
        find, startswith = chunk.find, chunk.startswith
        update = _UPDATE if self._passes_updates else _NO_LINE
        passed = 0
        first = latest = start
        while (end := find(b"\n", start)) >= 0:
            if startswith(update, start) and chunk[end - 1] == _CLOSE:
                passed += 1
                latest = start
                start = end + 1
            else:
                if passed:
                    self._sorter.pass_updates(passed, base + first, chunk, latest, start - 1, base + latest)
                    passed = 0
                self._sorter.take(chunk[start:end], base + start)
                self.stats.lines += 1
                first = start = end + 1
        if passed:
            self._sorter.pass_updates(passed, base + first, chunk, latest, start - 1, base + latest)

    def _cut_dense(self, chunk: bytes, start: int, stop: int, base: int) -> None:
        reader = BytesIO(chunk)
        reader.seek(start)
        passed = 0
        first = latest = start
        while start < stop:
            lines = reader.readlines(min(_BLOCK, stop - start))
            end = reader.tell()
            if _are_updates(lines, chunk, start, end):
                passed += len(lines)
                start = end
                latest = end - len(lines[-1])
            else:
                if passed:
                    self._sorter.pass_updates(passed, base + first, chunk, latest, start - 1, base + latest)
                    passed = 0
                self._cut_mixed(lines, base + start)
                first = start = end
        if passed:
            self._sorter.pass_updates(passed, base + first, chunk, latest, start - 1, base + latest)

    def _cut_mixed(self, lines: list[bytes], offset: int) -> None:
        odd = [n for n, line in enumerate(lines) if not (_UPDATE <= line < _PAST_UPDATE and line[-2] == _CLOSE)]
        done = 0
        for n in odd:
            if n > done:
                offset = self._pass_lines(lines[done:n], offset)
            self._sorter.take(lines[n][:-1], offset)
            self.stats.lines += 1
            offset += len(lines[n])
            done = n + 1
        if done < len(lines):
            self._pass_lines(lines[done:], offset)

    def _pass_lines(self, lines: list[bytes], offset: int) -> int:
        last = lines[-1]
        end = offset + sum(map(len, lines))
        self._sorter.pass_updates(len(lines), offset, last, 0, len(last) - 1, end - len(last))
        return end


def _are_updates(lines: list[bytes], chunk: bytes, start: int, end: int) -> bool:
    """Whether each of the lines, which are ``chunk[start:end]``, begins as an update and ends as an object."""
    if end - start < _DENSEST * len(lines):
        return (
            lines[0].startswith(_UPDATE)
            and lines[-1].endswith(b"}\n")
            and chunk.count(_BETWEEN_UPDATES, start, end) == len(lines) - 1
        )
    return min(lines) >= _UPDATE and max(lines) < _PAST_UPDATE and countOf(map(_before_lf, lines), _CLOSE) == len(lines)
