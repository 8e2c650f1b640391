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
_NO_LINE = b"\0"  # no line begins so: damage is taken out before
_CLOSE = ord("}")
_ONLY_CLOSE = {_CLOSE}
_before_lf = itemgetter(-2)

_DENSE = 2048  # bytes a line; shorter ones are looked at many at once
_BLOCK = 32 * 1024  # bytes of lines looked at together: they stay in the processor's cache, and one odd line among
# them makes only these be looked at one by one

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
        size, offset = self._pending.size, self._pending.offset
        if size:
            line = self._pending.end(memoryview(b""))
            if isinstance(line, bytes) and _is_whole(line):
                self._take(line, offset)
            elif isinstance(line, tuple) or line.strip():
                self.stats.torn = size
            self.stats.lines += 1
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
            self._take_huge(*line, size, offset)
        elif lf and self._passes_updates and size <= PASSED_LIMIT and line.startswith(_UPDATE) and line[-1] == _CLOSE:
            self._pass_updates(1, offset, line, 0, size, offset)
            return
        else:
            self._take(line, offset)
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
                    self._pass_updates(passed, base + first, chunk, latest, start - 1, base + latest)
                    passed = 0
                self._take(chunk[start:end], base + start)
                self.stats.lines += 1
                first = start = end + 1
        if passed:
            self._pass_updates(passed, base + first, chunk, latest, start - 1, base + latest)

    def _cut_dense(self, chunk: bytes, start: int, stop: int, base: int) -> None:
        reader = BytesIO(chunk)
        reader.seek(start)
        passed = 0
        first = latest = start
        while start < stop:
            lines = reader.readlines(min(_BLOCK, stop - start))
            if min(lines) >= _UPDATE and max(lines) < _PAST_UPDATE and set(map(_before_lf, lines)) == _ONLY_CLOSE:
                passed += len(lines)
                start = reader.tell()
                latest = start - len(lines[-1])
            else:
                if passed:
                    self._pass_updates(passed, base + first, chunk, latest, start - 1, base + latest)
                    passed = 0
                self._cut_mixed(lines, base + start)
                first = start = reader.tell()
        if passed:
            self._pass_updates(passed, base + first, chunk, latest, start - 1, base + latest)

    def _cut_mixed(self, lines: list[bytes], offset: int) -> None:
        odd = [n for n, line in enumerate(lines) if not (_UPDATE <= line < _PAST_UPDATE and line[-2] == _CLOSE)]
        done = 0
        for n in odd:
            if n > done:
                offset = self._pass_lines(lines[done:n], offset)
            self._take(lines[n][:-1], offset)
            self.stats.lines += 1
            offset += len(lines[n])
            done = n + 1
        if done < len(lines):
            self._pass_lines(lines[done:], offset)

    def _pass_lines(self, lines: list[bytes], offset: int) -> int:
        last = lines[-1]
        end = offset + sum(map(len, lines))
        self._pass_updates(len(lines), offset, last, 0, len(last) - 1, end - len(last))
        return end

    # -- what a line is ----------------------------------------------------------------------------------------------

    def _pass_updates(self, count: int, first: int, buffer: bytes, start: int, end: int, offset: int) -> None:
        """``count`` updates in a row, from offset ``first`` on, were passed over; the last is ``buffer[start:end]``, at
        ``offset``."""
        stats = self.stats
        stats.lines += count
        stats.records += count
        stats.counts["message_update"] = stats.counts.get("message_update", 0) + count
        stats.updates += count
        if stats.first_update_offset is None:
            stats.first_update_offset = first
        self._last = _Passed(buffer, start, end, stats.lines, offset)
        self._unsure = end - start <= PASSED_LIMIT  # longer ones are not always there to be looked at again

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
        if name == "message_end":
            self._unsure = False  # it ends what the updates before it were about, so they have not swallowed it
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
        if not stats.counts[name]:
            del stats.counts[name]
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


def _is_whole(line: bytes) -> bool:
    try:
        decode(line)
    except ValueError:
        return False
    return True
