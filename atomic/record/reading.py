"""A stream read from any position, live or at rest. In a compressed one the index says which frame to open; where it
is missing or does not fit, the stream is read from its beginning instead."""

from __future__ import annotations

import io
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from atomic.errors import RecordDamaged, RecordError
from atomic.framing.reading import check_whole
from atomic.record.compress import Frame
from atomic.record.files import LARGEST, decode_object, place_error
from atomic.record.layout import INDEX_FILE, PACKED_FILE, STREAM_FILE
from atomic.regular import open_regular, read_regular

_BUFFER = 128 << 10
_FRAME_MAGIC = b"\x28\xb5\x2f\xfd"
_BEGINNING = Frame(0, 0, 0, True)


def open_at_offset(folder: Path, offset: int) -> BinaryIO:
    """The raw stream of an attempt's folder from byte ``offset`` on; empty when it lies behind the end.
    Raises FileNotFoundError when there is no stream, RecordError when it cannot be read."""
    source = _open_either(folder)
    if isinstance(source, _Packed):
        at = bisect_right(source.frames, offset, key=lambda frame: frame.raw) - 1
        frame = source.checked(source.frames[max(at, 0)])
        return source.read_from(frame, skip=offset - frame.raw)
    source.seek(offset)
    return source


def open_at_line(folder: Path, line: int) -> BinaryIO:
    """The same from the first byte of a line on, counted from 1."""
    source = _open_either(folder)
    if isinstance(source, _Packed):
        frame = source.checked(_frame_of_line(source.frames, line))
        reader = source.read_from(frame)
        before = line - 1 - frame.newlines
    else:
        reader = source
        before = line - 1
    _skip_lines(reader, before)
    return reader


def read_lines(folder: Path, start: int = 1) -> Iterator[bytes]:
    """The raw lines from line ``start`` (from 1) on, each with its LF; the last may lack it. Raises as open_at_line,
    and RecordDamaged where a compressed stream is torn."""
    with open_at_line(folder, start) as reader:
        try:
            yield from reader
            check_whole(folder / PACKED_FILE)
        except zstandard.ZstdError as error:
            raise RecordDamaged(
                f"{folder / PACKED_FILE} is damaged: {error}", path=str(folder / PACKED_FILE)
            ) from error


class _Packed:
    """A compressed stream, open, with its index."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self.file = file
        self.frames = _read_index(path.with_name(INDEX_FILE), file)

    def checked(self, frame: Frame) -> Frame:
        """The frame where one begins there, else the first: then the index is of another stream."""
        self.file.seek(frame.packed)
        return frame if self.file.read(len(_FRAME_MAGIC)) == _FRAME_MAGIC else _BEGINNING

    def read_from(self, frame: Frame, *, skip: int = 0) -> BinaryIO:
        self.file.seek(frame.packed)
        decompressor = zstandard.ZstdDecompressor()
        raw = decompressor.stream_reader(self.file, read_across_frames=True, closefd=True)
        reader = cast("BinaryIO", io.BufferedReader(cast("io.RawIOBase", raw), _BUFFER))
        try:
            while skip > 0 and (passed := len(reader.read(min(skip, _BUFFER)))):
                skip -= passed
        except zstandard.ZstdError as error:
            reader.close()
            raise RecordDamaged(f"{self.path} is damaged: {error}", path=str(self.path)) from error
        return reader


def _open_either(folder: Path) -> BinaryIO | _Packed:
    """The original where it is still there, else the compressed copy: it was there before the original went."""
    try:
        return io.BufferedReader(open_regular(folder / STREAM_FILE), _BUFFER)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise place_error(error, folder / STREAM_FILE, "read") from error
    path = folder / PACKED_FILE
    try:
        return _Packed(path, io.BufferedReader(open_regular(path)))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise place_error(error, path, "read") from error


def _read_index(path: Path, packed: BinaryIO) -> list[Frame]:
    """The frames by the index; the beginning alone where the index is missing, torn, or of another stream."""
    try:
        facts = decode_object(read_regular(path, LARGEST), str(path))
        frames = [Frame(raw, at, newlines, bool(at_line)) for raw, at, newlines, at_line in facts["frames"]]
        if facts["compressed_bytes"] == packed.seek(0, io.SEEK_END) and frames[0] == _BEGINNING:
            return frames
    except (OSError, RecordError, LookupError, TypeError, ValueError):
        pass  # reading on from the beginning gives the same bytes, only later
    return [_BEGINNING]


def _frame_of_line(frames: list[Frame], line: int) -> Frame:
    """The last frame that the line's first byte can be reached from by skipping whole lines only."""
    after = bisect_left(frames, line - 1, key=lambda frame: frame.newlines)
    if after < len(frames) and frames[after].newlines == line - 1 and frames[after].at_line:
        return frames[after]
    return frames[max(after - 1, 0)]


def _skip_lines(reader: BinaryIO, count: int) -> None:
    """Pass over so many lines, without holding a long one."""
    while count > 0 and (piece := reader.readline(_BUFFER)):
        count -= piece.endswith(b"\n")
