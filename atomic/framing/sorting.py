"""What a line is: a record, one that is passed over, or noise."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from atomic.framing.clip import clip
from atomic.framing.decode import BOM, decode, is_whole, salvage
from atomic.framing.facts import Noise, Record, StreamStats
from atomic.framing.pending import PASSED_LIMIT, ends_of, keeps, leading_type
from atomic.framing.usage import read_usage

# Their bodies repeat what message_end and tool_execution_end say.
COUNTED = frozenset({"message_update", "tool_execution_update"})
# So do these, but where they stand among the others matters: they are records without a body.
MARKED = frozenset({"turn_end", "agent_end"})

NOISE_SAMPLES = 5
NOISE_SAMPLE_SIZE = 200


class _Passed(NamedTuple):
    """The last line that was passed over: ``buffer[start:end]``."""

    buffer: bytes
    start: int
    end: int
    line: int
    offset: int


class Sorter:
    """Takes lines, whole and in order; ``out`` collects the records, ``stats`` the counts.

    ``passed`` are the types that are passed over, ``whole`` those never to be clipped (None: clip nothing).
    """

    def __init__(self, *, subscribe: Collection[str], keep_all: bool) -> None:
        self.stats = StreamStats()
        self.out: list[Record] = []
        subscribed = frozenset(subscribe)
        self._counted = frozenset() if keep_all else COUNTED - subscribed
        self._marked = frozenset() if keep_all else MARKED - subscribed
        self.passed = self._counted | self._marked
        self.whole = None if keep_all else subscribed
        self._last: _Passed | None = None
        self._unsure = False  # whether the last one may be something else than it looks

    def sample_usage(self) -> dict[str, Any] | None:
        """The cumulative ``usage`` of the message now streaming, as its latest update tells it; None between messages
        and where updates do not tell. It is read when asked for: ask a few times a second at most."""
        if (last := self._last) is not None and (usage := read_usage(last.buffer[last.start : last.end])) is not None:
            self.stats.live_usage = usage
        return self.stats.live_usage

    def pass_updates(self, count: int, first: int, buffer: bytes, start: int, end: int, offset: int) -> None:
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

    def take(self, line: bytes, offset: int) -> None:
        """Any line, whole, without its LF."""
        number = self.stats.lines + 1
        if len(line) > PASSED_LIMIT:
            head, tail = ends_of(line)
            limit = keeps(head, self.passed, self.whole)
            if limit is not None and len(line) > limit:
                self.take_huge(head, tail, len(line), offset)
                return
        name = leading_type(line)
        if name in self._counted and line.endswith(b"}"):
            self._count(name, offset)
            self._last = _Passed(line, 0, len(line), number, offset)
            self._unsure = True
            return
        if name == "message_end":
            self._unsure = False  # it ends what the updates before it were about, so they have not swallowed it
        self.make_sure()
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

    def take_huge(self, head: bytes, tail: bytes, size: int, offset: int) -> None:
        """A line of which only the two ends are there."""
        number = self.stats.lines + 1
        name = leading_type(head)
        self.make_sure()
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
        self.out.append(Record(number, offset, size, name, data, clipped))

    def _count(self, name: str, offset: int) -> None:
        stats = self.stats
        stats.records += 1
        stats.counts[name] = stats.counts.get(name, 0) + 1
        if name == "message_update":
            stats.updates += 1
            if stats.first_update_offset is None:
                stats.first_update_offset = offset

    def make_sure(self) -> None:
        """Look at the last passed-over line before anything else follows: where a record was cut and the next one
        written right behind it, the line begins as an update and ends as an object, and hides a record."""
        last = self._last
        if last is None or not self._unsure:
            return
        self._unsure = False
        line = last.buffer[last.start : last.end]
        if is_whole(line):
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
