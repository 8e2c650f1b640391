"""Reading a stream that is there: live, finished or compressed, by one code path."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from atomic.errors import PlaceError, RecordDamaged
from atomic.framing.facts import Record
from atomic.framing.follow import CHUNK_SIZE
from atomic.framing.framer import Framer

_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_SUFFIX = ".zst"


def open_stream(path: Path) -> BinaryIO:
    """The bytes of a stream as the agent wrote them, be the file compressed or not.

    ``path`` may be given with or without ``.zst``: the one that exists is read. Raises PlaceError when neither can be.
    """
    other = path.with_suffix("") if path.suffix == _ZSTD_SUFFIX else path.with_name(path.name + _ZSTD_SUFFIX)
    for candidate in (path, other):
        with suppress(FileNotFoundError):  # also when it is being replaced by its compressed copy just now
            return _open(candidate)
    raise PlaceError(
        f"there is no stream at {path}",
        hint="Give the path of a stream.jsonl, or of its compressed copy.",
        path=str(path),
        reason="missing",
    )


def read_records(path: Path, *, subscribe: Collection[str] = (), keep_all: bool = False) -> Iterator[Record]:
    """The records of a stream, one after the other, in flat memory; see Framer for what is passed over.

    Raises PlaceError when there is no such file, RecordDamaged when a compressed one cannot be read to its end.
    """
    return read_with(Framer(subscribe=subscribe, keep_all=keep_all), path)


def read_with(framer: Framer, path: Path) -> Iterator[Record]:
    """The same by a framer of the caller's, whose ``stats`` are complete afterwards."""
    with open_stream(path) as stream:
        try:
            while chunk := stream.read(CHUNK_SIZE):
                yield from framer.feed(chunk)
        except zstandard.ZstdError as error:
            offset = framer.stats.bytes
            raise RecordDamaged(
                f"{path} cannot be read beyond byte {offset} of the stream: {error}", path=str(path), offset=offset
            ) from error
    yield from framer.close()


def _open(path: Path) -> BinaryIO:
    try:
        file = path.open("rb", buffering=0)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise PlaceError(f"cannot read {path}: {error.strerror}", path=str(path), reason=str(error.strerror)) from error
    magic = file.read(len(_ZSTD_MAGIC))
    file.seek(0)
    if magic != _ZSTD_MAGIC:
        return cast("BinaryIO", file)
    return cast("BinaryIO", zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True, closefd=True))
