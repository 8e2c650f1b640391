"""Bytes → records: the one place where a stream is cut into lines.

Most bytes of a stream are updates that repeat what a later record says. They are recognised by how their line begins,
counted and passed over. Where lines are long, one ``find`` and one ``startswith`` a line do that; where they are
short, whole chunks are compared at once. The last chunk's density says which.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from io import BytesIO
from operator import itemgetter
from typing import Any, NamedTuple

from atomic.framing.clip import clip
from atomic.framing.decode import BOM, decode, salvage
from atomic.framing.facts import Damage, Noise, Record, StreamStats
from atomic.framing.pending import PASSED_LIMIT, Pending, ends_of, keeps, leading_type
from atomic.framing.usage import read_usage

# Their bodies repeat what message_end and tool_execution_end say.
COUNTED = frozenset({"message_update", "tool_execution_update"})
# So do these, but where they stand among the others matters: they are records without a body.
MARKED = frozenset({"turn_end", "agent_end"})

NOISE_SAMPLES = 5
NOISE_SAMPLE_SIZE = 200

_UPDATE = b'{"type":"message_update",'
_PAST_UPDATE = b'{"type":"message_update-'  # the least bytes that are greater than all that begin with _UPDATE
_BETWEEN_UPDATES = b"}\n" + _UPDATE
_NO_LINE = b"\0"  # no line begins so: damage is taken out before
_CLOSE = ord("}")
_before_lf = itemgetter(-2)

_DENSE = 2048  # bytes a line; shorter ones are handled by the chunk
_DENSEST = 200  # bytes a line; for shorter ones one search over the chunk beats three looks at each line
_BLOCK = 32  # lines looked at together in a chunk that holds others than updates

_NULS = re.compile(rb"\0+")


class _Passed(NamedTuple):
    """The last line that was passed over: ``buffer[start:end]``."""

    buffer: bytes
    start: int
    end: int
    line: int
    offset: int


class Framer:
    """Cuts a stream into records. Feed it bytes as they come; any cut of them gives the same records.

    By default the bodies of ``message_update``, ``tool_execution_update``, ``turn_end`` and ``agent_end`` are passed
    over: the first two are only counted, of the others a record tells the place. ``subscribe`` names types to be
    decoded and returned whole all the same; ``keep_all`` does so with every type.
    """

    def __init__(self, *, subscribe: Collection[str] = (), keep_all: bool = False) -> None:
        self.stats = StreamStats()
        subscribed = frozenset(subscribe)
        self._counted = frozenset() if keep_all else COUNTED - subscribed
        self._marked = frozenset() if keep_all else MARKED - subscribed
        self._passed = self._counted | self._marked
        self._whole = None if keep_all else subscribed
        self._passes_updates = "message_update" in self._counted
        self._pending = Pending(self._passed, self._whole)
        self._last: _Passed | None = None
        self._unsure = False  # whether the last one may be something else than it looks
        self._dense = False
        self._out: list[Record] = []

    def feed(self, chunk: bytes) -> list[Record]:
        """The records that are whole with these bytes."""
        self._out = []
        if 0 in chunk:
            self._feed_damaged(chunk)
        elif chunk:
            self._feed(chunk)
        return self._out

    def close(self) -> list[Record]:
        """The end of the stream: a last line without LF is a record when it is whole, else it is torn."""
        self._out = []
        pending = self._pending
        if pending.size:
            self.stats.lines += 1
            line = bytes(pending.buffer)
            if pending.ends() or not _is_whole(line):
                self._make_sure()
                self.stats.torn = pending.size if line.strip() else 0
            else:
                self._take(line, pending.offset)
            pending.clear()
        self._make_sure()
        return self._out

    def sample_usage(self) -> dict[str, Any] | None:
        """The cumulative ``usage`` of the message now streaming, as its latest update tells it; None between messages
        and where updates do not tell. It is read when asked for: ask a few times a second at most."""
        if (last := self._last) is not None and (usage := read_usage(last.buffer[last.start : last.end])) is not None:
            self.stats.live_usage = usage
        return self.stats.live_usage

    # -- cutting -----------------------------------------------------------------------------------------------------

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
            self._pending.add(memoryview(chunk)[:end], base)
            self._end_pending(lf=True)
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
                self._end_pending(lf=False)
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

    def _end_pending(self, *, lf: bool) -> None:
        """The line that came in pieces is whole: by its LF, or cut off by damage."""
        pending = self._pending
        offset = pending.offset
        if (ends := pending.ends()) is not None:
            self._take_huge(*ends, pending.size, offset)
        else:
            self._take(bytes(pending.buffer), offset)
        self.stats.lines += lf
        pending.clear()

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
                    self._pass_updates(passed, first, chunk, latest, start - 1, base)
                    passed = 0
                self._take(chunk[start:end], base + start)
                self.stats.lines += 1
                first = start = end + 1
        if passed:
            self._pass_updates(passed, first, chunk, latest, start - 1, base)

    def _cut_dense(self, chunk: bytes, start: int, stop: int, base: int) -> None:
        reader = BytesIO(chunk)
        reader.seek(start)
        lines = reader.readlines()
        if stop < len(chunk):
            lines.pop()
        if _are_updates(lines, chunk, start, stop):
            self._pass_updates(len(lines), start, chunk, stop - len(lines[-1]), stop - 1, base)
            return
        for nth in range(0, len(lines), _BLOCK):
            block = lines[nth : nth + _BLOCK]
            end = start + sum(map(len, block))
            if _are_updates(block, chunk, start, end):
                self._pass_updates(len(block), start, chunk, end - len(block[-1]), end - 1, base)
            else:
                self._cut_sparse(chunk[start:end], 0, base + start)
            start = end

    # -- what a line is ----------------------------------------------------------------------------------------------

    def _pass_updates(self, count: int, first: int, chunk: bytes, latest: int, end: int, base: int) -> None:
        """``count`` updates in a row, from ``chunk[first]`` on, were passed over; the last is ``chunk[latest:end]``."""
        stats = self.stats
        stats.lines += count
        stats.records += count
        stats.counts["message_update"] = stats.counts.get("message_update", 0) + count
        stats.updates += count
        if stats.first_update_offset is None:
            stats.first_update_offset = base + first
        self._last = _Passed(chunk, latest, end, stats.lines, base + latest)
        self._unsure = True

    def _take(self, line: bytes, offset: int) -> None:
        """Any line, whole, without its LF."""
        number = self.stats.lines + 1
        if len(line) > PASSED_LIMIT:
            head, tail = ends_of(line)
            limit = keeps(head, self._passed, self._whole)
            if limit is not None and len(line) > limit:
                self._take_huge(head, tail, len(line), offset)
                return
        name = leading_type(line)
        if name in self._counted and line.endswith(b"}"):
            self._count(name, offset)
            self._last = _Passed(line, 0, len(line), number, offset)
            self._unsure = True
            return
        self._make_sure()
        if name in self._marked and line.endswith(b"}"):
            self._emit({"type": name}, number, offset, len(line))
            return
        if line.startswith(BOM):
            line = line[len(BOM) :]
            offset += len(BOM)
        try:
            data = decode(line)
        except ValueError:
            self._salvage(line, number, offset)
        else:
            self._emit(data, number, offset, len(line))

    def _take_huge(self, head: bytes, tail: bytes, size: int, offset: int) -> None:
        """A line of which only the two ends are there."""
        number = self.stats.lines + 1
        name = leading_type(head)
        self._make_sure()
        if not name or not tail.rstrip(b" \t\r").endswith(b"}"):
            self._note_noise(head, number, offset)
            return
        if name in self._counted:
            self._count(name, offset)
            self._last = _Passed(head + tail, 0, len(head) + len(tail), number, offset)
            return
        try:
            data = {"type": name} if name in self._marked else clip(head, tail)
        except ValueError:
            self._note_noise(head, number, offset)
        else:
            self._emit(data, number, offset, size, clipped=True)

    def _emit(self, data: dict[str, Any], number: int, offset: int, size: int, *, clipped: bool = False) -> None:
        name = data.get("type")
        if not isinstance(name, str):
            name = ""
        self._count(name, offset)
        if name in self._counted:
            return
        if name in self._marked:
            data, clipped = {"type": name}, True
        if name in ("message_start", "message_end"):
            self.stats.live_usage = self._last = None
        self._out.append(Record(number, offset, size, name, data, clipped))

    def _count(self, name: str, offset: int) -> None:
        stats = self.stats
        stats.records += 1
        stats.counts[name] = stats.counts.get(name, 0) + 1
        if name == "message_update":
            stats.updates += 1
            if stats.first_update_offset is None:
                stats.first_update_offset = offset

    def _make_sure(self) -> None:
        """Look at the last passed-over line before anything else follows: where a record was cut and the next one
        written right behind it, the line begins as an update and ends as an object, and hides a record."""
        last = self._last
        if last is None or not self._unsure:
            return
        self._unsure = False
        line = last.buffer[last.start : last.end]
        if _is_whole(line):
            return
        stats = self.stats
        name = leading_type(line)
        stats.records -= 1
        stats.counts[name] -= 1
        stats.updates -= name == "message_update"
        self._salvage(line, last.line, last.offset)

    def _salvage(self, line: bytes, number: int, offset: int) -> None:
        """A line that is no record: noise, but for the records inside it."""
        position = 0
        for start, end, data in salvage(line):
            self._note_noise(line[position:start], number, offset + position)
            self._emit(data, number, offset + start, end - start)
            position = end
        self._note_noise(line[position:], number, offset + position)

    def _note_noise(self, text: bytes, number: int, offset: int) -> None:
        """Blank lines are none."""
        if not text.strip():
            return
        self.stats.noise += 1
        if len(self.stats.noise_samples) < NOISE_SAMPLES:
            self.stats.noise_samples.append(Noise(number, offset, text[:NOISE_SAMPLE_SIZE]))


def _are_updates(lines: list[bytes], chunk: bytes, start: int, stop: int) -> bool:
    """Whether each of the lines, which are ``chunk[start:stop]``, begins as an update and ends as an object."""
    if stop - start < _DENSEST * len(lines):
        return (
            lines[0].startswith(_UPDATE)
            and lines[-1].endswith(b"}\n")
            and chunk.count(_BETWEEN_UPDATES, start, stop) == len(lines) - 1
        )
    return min(lines) >= _UPDATE and max(lines) < _PAST_UPDATE and set(map(_before_lf, lines)) == {_CLOSE}


def _is_whole(line: bytes) -> bool:
    try:
        decode(line)
    except ValueError:
        return False
    return True
