"""A stream put to rest: zstd frames with an index beside them, the original removed only when all of it reads back.

The steps, each of which a kill may interrupt without losing a byte:
compressed copy under a hidden name → read back and compared → index → copy renamed → original removed.
While both forms are there the original counts; a reader therefore looks for it first, then for the copy.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson
import zstandard

from atomic.errors import RecordError
from atomic.record.facts import StreamFile
from atomic.record.files import create_file, place_error, sync_folder, temporary, write_all, write_file
from atomic.record.layout import INDEX_FILE, PACKED_FILE, STREAM_FILE
from atomic.regular import open_regular

LEVEL = 3  # beyond it a stream shrinks by a few per cent and costs several times the CPU
FRAME_BYTES = 4 << 20  # raw bytes a frame: what a jump to an event decompresses at most, some 5 ms
_READ_BYTES = 64 << 10  # larger ones come from the system and go back to it each time
_TRIES = 3  # a process that outlived its session may still write to the stream while it is being compressed

_contexts = threading.local()


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a frame begins: in the raw stream, in the compressed file, and in lines."""

    raw: int
    packed: int
    newlines: int  # LF bytes in all frames before it
    at_line: bool  # its first byte begins a line (a line longer than a frame runs over several)


def put_to_rest(folder: Path, *, level: int = LEVEL, durable: bool = False) -> StreamFile | None:
    """Turn ``stream.jsonl`` of an attempt's folder into ``stream.jsonl.zst``. To be called again after a kill at any
    point; on a stream at rest it only says what it is. Blocks: the event loop calls it in a thread.

    Returns None where there is no stream. A stream that a left-over process keeps writing to stays as it is.
    Raises PlaceError or RecordError where the disk does not do it; then the original is still there.
    """
    raw, packed = folder / STREAM_FILE, folder / PACKED_FILE
    try:
        for _ in range(_TRIES):
            if not raw.exists():
                return _at_rest(packed)
            stream = _compress(raw, packed, level=level, durable=durable)
            if raw.stat().st_size == stream.bytes:
                raw.unlink()
                return stream
        return _in_the_raw(raw)
    except OSError as error:
        raise place_error(error, raw, "compress") from error


def _compress(raw: Path, packed: Path, *, level: int, durable: bool) -> StreamFile:
    """Write the verified copy and its index beside the original. Raises OSError, RecordError."""
    unfinished = temporary(packed)
    digest = hashlib.sha256()
    frames: list[Frame] = []
    size = written = newlines = 0
    at_line = True
    compressor = _compressor(level)
    try:
        with open_regular(raw) as source:
            target = create_file(unfinished)
            try:
                for block, lines in _blocks(source):
                    digest.update(block)
                    frame = compressor.compress(block)
                    write_all(target, frame)
                    frames.append(Frame(size, written, newlines, at_line))
                    size += len(block)
                    written += len(frame)
                    newlines += lines
                    at_line = block[-1:].tobytes() == b"\n"
                if durable:
                    os.fsync(target)
            finally:
                os.close(target)
        sha256 = digest.hexdigest()
        _compare(unfinished, (size, sha256), raw)
        _write_index(packed.with_name(INDEX_FILE), frames, size=size, packed_size=written, sha256=sha256)
        os.replace(unfinished, packed)  # noqa: PTH105 - Path.replace costs as much again as the call
        if durable:
            sync_folder(packed.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise
    return StreamFile(name=PACKED_FILE, bytes=size, sha256=sha256, compressed_bytes=written)


def _compare(copy: Path, original: tuple[int, str], raw: Path) -> None:
    if _digest(copy) != original:
        raise RecordError(
            f"the compressed copy of {raw} does not read back as it was; the original is kept",
            hint="the disk or the memory of this machine may be failing",
            path=str(raw),
        )


def _blocks(source: io.FileIO) -> Iterator[tuple[memoryview, int]]:
    """The stream in blocks of about FRAME_BYTES, each with the number of its LFs. A block ends with a line where one
    ends in it, and is good until the next is asked for. An empty stream is one empty block."""
    room = min(os.fstat(source.fileno()).st_size + 1, FRAME_BYTES + _READ_BYTES)
    buffer = bytearray(room)
    filled = 0
    empty = True
    with memoryview(buffer) as view:
        while count := source.readinto(view[filled : filled + _READ_BYTES]):
            filled += count
            if filled >= FRAME_BYTES or filled == room:
                cut = buffer.rfind(b"\n", 0, filled) + 1 or filled
                yield view[:cut], buffer.count(b"\n", 0, cut)
                empty = False
                view[: filled - cut] = view[cut:filled]
                filled -= cut
        if filled or empty:
            yield view[:filled], buffer.count(b"\n", 0, filled)


def _write_index(path: Path, frames: list[Frame], *, size: int, packed_size: int, sha256: str) -> None:
    """The index: only beside streams of several frames, since one frame needs none."""
    if len(frames) < 2:
        path.unlink(missing_ok=True)
        return
    rows = [[frame.raw, frame.packed, frame.newlines, int(frame.at_line)] for frame in frames]
    facts = {"version": 1, "bytes": size, "compressed_bytes": packed_size, "sha256": sha256, "frames": rows}
    write_file(path, orjson.dumps(facts))


def _at_rest(packed: Path) -> StreamFile | None:
    """What the compressed stream is; None when there is none. Reads all of it."""
    if not packed.exists():
        return None
    size, sha256 = _digest(packed)
    return StreamFile(name=PACKED_FILE, bytes=size, sha256=sha256, compressed_bytes=packed.stat().st_size)


def _in_the_raw(raw: Path) -> StreamFile:
    """What a stream is that could not be compressed."""
    digest = hashlib.sha256()
    size = 0
    with open_regular(raw) as source:
        while chunk := source.read(_READ_BYTES):
            digest.update(chunk)
            size += len(chunk)
    return StreamFile(name=STREAM_FILE, bytes=size, sha256=digest.hexdigest())


def _digest(packed: Path) -> tuple[int, str]:
    """Size and sha256 of what the compressed file holds. Raises OSError, RecordError."""
    digest = hashlib.sha256()
    size = 0
    try:
        with open_regular(packed) as source:
            reader = _decompressor().stream_reader(source, read_across_frames=True)
            while chunk := reader.read(_READ_BYTES):
                digest.update(chunk)
                size += len(chunk)
    except zstandard.ZstdError as error:
        raise RecordError(f"{packed} cannot be decompressed: {error}", path=str(packed)) from error
    return size, digest.hexdigest()


def _compressor(level: int) -> zstandard.ZstdCompressor:
    """This thread's compressor: a context costs more than compressing a small stream."""
    compressors: dict[int, zstandard.ZstdCompressor] = _contexts.__dict__.setdefault("compressors", {})
    if level not in compressors:
        compressors[level] = zstandard.ZstdCompressor(level=level, write_checksum=True)
    return compressors[level]


def _decompressor() -> zstandard.ZstdDecompressor:
    """This thread's decompressor, for the same reason."""
    if "decompressor" not in _contexts.__dict__:
        _contexts.decompressor = zstandard.ZstdDecompressor()
    decompressor: zstandard.ZstdDecompressor = _contexts.decompressor
    return decompressor
