"""Reading a stream for a page: its outline, once through; its raw events by their numbers, without the rest."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import zstandard

from atomic.errors import PlaceError, RecordDamaged, RecordError
from atomic.framing import Follower, Framer, read_with
from atomic.record import AttemptFolder
from atomic.record.cat import type_of
from atomic.record.layout import PACKED_FILE, STREAM_FILE
from atomic.record.redact import HEADERS, without_headers
from atomic.text import Masker
from atomic.verdict.fields import count, mapping
from flows.dashboard.outline import Entry, Outline

PAGE = 100  # raw events a page
SHOWN = 4_000  # characters of an event among others
WHOLE = 200_000  # characters of one that was asked for by its number
MARGIN = 4_000  # bytes read beyond what is shown, so that a secret across the cut is found and masked
READ_AHEAD = 32  # chunks of a growing stream taken in at once: 8 MiB
KEPT_OUTLINES = 32
_PIECE = 128 << 10  # bytes of a long line passed over at once


@dataclass(frozen=True, slots=True)
class Told:
    """An outline, and how far it goes. ``problem`` says why it goes no further."""

    entries: tuple[Entry, ...] = ()
    left_out: int = 0
    lines: int = 0
    tokens: int = 0  # input and output so far, the message that is being written included
    noise: int = 0
    torn: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class RawEvent:
    """A line of the stream, masked. ``cut`` is how many bytes are not shown; ``type`` is empty for noise."""

    line: int
    type: str
    text: str
    size: int
    cut: int


@dataclass(frozen=True, slots=True)
class RawPage:
    """Raw events from one on. ``more``: there is another behind them."""

    first: int
    events: tuple[RawEvent, ...]
    more: bool
    problem: str = ""


def tell(folder: AttemptFolder) -> Told:
    """The outline of a stream at rest. Reads all of it, once: it is kept for the next who asks. Blocks."""
    stamp = _stamp(folder.path / PACKED_FILE) or _stamp(folder.path / STREAM_FILE)
    return Told(problem="there is no stream") if stamp is None else _told(folder.path, stamp)


class Growing:
    """The outline of a stream that is being written. ``advance`` blocks; it can be called after the stream has ended,
    since the file stays open."""

    def __init__(self, folder: AttemptFolder) -> None:
        self.folder = folder
        self._outline = Outline()
        self._framer = Framer()
        self._follower: Follower | None = None

    def advance(self) -> Told:
        """Take in what has been written since."""
        if self._follower is None:
            try:
                self._follower = Follower(self.folder.stream, self._framer)
            except OSError:
                return tell(self.folder)  # at rest already, or not there yet
        for _ in range(READ_AHEAD):
            for record in self._follower.poll():
                self._outline.take(record)
            if not self._follower.more:
                break
        return _result(self._outline, self._framer)

    def close(self) -> None:
        """Let go of the file."""
        if self._follower is not None:
            self._follower.close()
            self._follower = None


def raw_page(folder: AttemptFolder, first: int, masker: Masker, *, chosen: int | None = None) -> RawPage:
    """PAGE events from line ``first`` on; the ``chosen`` one is shown at length. Of a compressed stream no more is read
    than the frames they are in. Blocks."""
    events: list[RawEvent] = []
    try:
        with folder.read_at_line(first) as reader:
            for line in range(first, first + PAGE):
                event = _event(reader, line, WHOLE if line == chosen else SHOWN, masker)
                if event is None:
                    return RawPage(first, tuple(events), more=False)
                events.append(event)
            return RawPage(first, tuple(events), more=bool(reader.read(1)))
    except FileNotFoundError:
        return RawPage(first, (), more=False, problem="there is no stream")
    except (RecordError, PlaceError) as error:
        return RawPage(first, tuple(events), more=False, problem=error.message)
    except (OSError, zstandard.ZstdError) as error:
        return RawPage(first, tuple(events), more=False, problem=f"the stream cannot be read on: {error}")


def body(folder: AttemptFolder, offset: int, most: int) -> bytes:
    """The line at an offset, or as much of it as `most` bytes. Raises FileNotFoundError, RecordError, PlaceError."""
    with folder.read_at(offset) as reader:
        try:
            return reader.readline(most)
        except zstandard.ZstdError as error:
            raise RecordDamaged(f"the stream cannot be read at byte {offset}: {error}", offset=offset) from error


@functools.lru_cache(maxsize=KEPT_OUTLINES)
def _told(path: Path, _stamp: tuple[int, int, int]) -> Told:
    outline, framer = Outline(), Framer()
    problem = ""
    try:
        for record in read_with(framer, path / STREAM_FILE):
            outline.take(record)
    except (RecordError, PlaceError) as error:
        problem = error.message
    return _result(outline, framer, problem)


def _result(outline: Outline, framer: Framer, problem: str = "") -> Told:
    stats = framer.stats
    writing = mapping(framer.sample_usage())
    tokens = outline.tokens + count(writing.get("input")) + count(writing.get("output"))
    return Told(tuple(outline.entries), outline.left_out, stats.lines, tokens, stats.noise, stats.torn, problem)


def _event(reader: BinaryIO, line: int, shown: int, masker: Masker) -> RawEvent | None:
    """The next line, without holding a long one."""
    raw = reader.readline(shown + MARGIN)
    if not raw:
        return None
    size = len(raw)
    piece = raw
    while not piece.endswith(b"\n") and (piece := reader.readline(_PIECE)):
        size += len(piece)
    kind = type_of(raw)
    if HEADERS in raw:
        raw = without_headers(raw)
    text = masker.raw(raw).decode("utf-8", "replace").rstrip("\n")
    return RawEvent(line, kind, text[:shown], size, max(size - shown, 0))


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
