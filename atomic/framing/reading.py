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
from atomic.framing.frames import MAGIC, torn_frame
from atomic.regular import open_regular

_ZSTD_SUFFIX = ".zst"


def open_stream(path: Path | str) -> BinaryIO:
    """The bytes of a stream as the agent wrote them, be the file compressed or not.

    ``path`` may be given with or without ``.zst``: the one that exists is read. Raises PlaceError when neither can be.
    """
    for candidate in _candidates(path):
        with suppress(FileNotFoundError):  # also when it is being replaced by its compressed copy just now
            return _open(candidate)
    raise PlaceError(
        f"there is no stream at {path}",
        hint="Give the path of a stream.jsonl, or of its compressed copy.",
        path=str(path),
        reason="missing",
    )


def check_whole(path: Path | str) -> None:
    """See that the compressed copy of a stream was not cut off, where that is what there is. Raises RecordDamaged."""
    for candidate in _candidates(path):
        with suppress(OSError):
            torn = torn_frame(candidate)
            if torn is not None:
                raise RecordDamaged(f"{candidate} is cut off after byte {torn}", path=str(candidate), offset=torn)
            return


def read_records(path: Path | str, *, subscribe: Collection[str] = (), keep_all: bool = False) -> Iterator[Record]:
    """The records of a stream, one after the other, in flat memory; see Framer for what is passed over.

    Raises PlaceError when there is no such file, RecordDamaged when a compressed one cannot be read to its end.
    """
    return read_with(Framer(subscribe=subscribe, keep_all=keep_all), path)


def read_with(framer: Framer, path: Path | str) -> Iterator[Record]:
    """The same by a framer of the caller's, whose ``stats`` are complete afterwards."""
    for records in read_in_batches(framer, path):
        yield from records


def read_in_batches(framer: Framer, path: Path | str) -> Iterator[list[Record]]:
    """The same, as many at once as a chunk of the file holds: some have none."""
    with open_stream(path) as stream:
        try:
            while chunk := stream.read(CHUNK_SIZE):
                yield framer.feed(chunk)
        except zstandard.ZstdError as error:
            offset = framer.stats.bytes
            raise RecordDamaged(
                f"{path} cannot be read beyond byte {offset} of the stream: {error}", path=str(path), offset=offset
            ) from error
    yield framer.close()
    check_whole(path)


def _candidates(path: Path | str) -> tuple[Path, Path]:
    path = Path(path)
    other = path.with_suffix("") if path.suffix == _ZSTD_SUFFIX else path.with_name(path.name + _ZSTD_SUFFIX)
    return path, other


def _open(path: Path) -> BinaryIO:
    try:
        file = open_regular(path)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise PlaceError(f"cannot read {path}: {error.strerror}", path=str(path), reason=str(error.strerror)) from error
    magic = file.read(len(MAGIC))
    file.seek(0)
    if magic != MAGIC:
        return cast("BinaryIO", file)
    return cast("BinaryIO", zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True, closefd=True))
