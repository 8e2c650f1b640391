"""Small files: written whole or not at all, readable by their owner only."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import json
import math
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from atomic.errors import AtomicError, PlaceError, RecordDamaged, RecordError
from atomic.regular import read_regular

FILE_MODE = 0o600
FOLDER_MODE = 0o700
_ONE_PAGE = 4096  # bytes that the system takes over as one: a call that writes more may end in the middle

_HINTS = {
    errno.ENOSPC: "free some space on that disk, or set another folder for the records",
    errno.EDQUOT: "the quota there is used up: free some space, or set another folder for the records",
    errno.EROFS: "it is mounted read-only: set another folder for the records",
    errno.EACCES: "this user may not write there: change its permissions, or set another folder for the records",
    errno.EPERM: "this user may not write there: change its permissions, or set another folder for the records",
    errno.EFBIG: "files may not be that large here (ulimit -f): raise the limit, or set another folder for the records",
    errno.ENOENT: "the folder has vanished or takes none: was it removed or unmounted while the run was on?",
    errno.ELOOP: "its links lead in a circle: set another folder for the records",
    errno.ENOTDIR: "a file stands where a folder is needed: move it away, or set another folder for the records",
}

DAMAGED_HINT = "crashes of machines and disks do that; the files beside it may be whole"

_serial = itertools.count()


def place_error(error: OSError, path: Path, doing: str) -> AtomicError:
    """The error that tells a person what the system would not do, where, and what helps."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    message = f"cannot {doing} {path}: {reason}"
    if error.errno in _HINTS:
        return PlaceError(message, hint=_HINTS[error.errno], path=str(path), reason=reason)
    return RecordError(message, path=str(path), reason=reason)


def make_folder(path: Path) -> None:
    """Make the folder and those above it, each 0700; one that exists stays as it is. Raises PlaceError."""
    try:
        path.mkdir(FOLDER_MODE)
    except FileExistsError as error:
        if not path.is_dir():
            raise place_error(NotADirectoryError(errno.ENOTDIR, ""), path, "make the folder") from error
    except FileNotFoundError:
        make_folder(path.parent)
        try:
            path.mkdir(FOLDER_MODE, exist_ok=True)
        except OSError as error:  # some file systems say of a folder that they do not take that it is not there
            raise place_error(error, path, "make the folder") from error
    except OSError as error:
        raise place_error(error, path, "make the folder") from error


def create_file(path: Path) -> int:
    """A descriptor of a new file for writing, 0600; an old one of that name is emptied. Raises OSError."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, FILE_MODE)


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """Write all of the data, however many calls it takes. Raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def sync_folder(path: Path) -> None:
    """Make the names in a folder last through a power cut. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def temporary(path: Path) -> Path:
    """A name beside the path for what is not yet whole: hidden, and no other writer's."""
    return path.parent / f".{path.name}.{os.getpid()}-{next(_serial)}.tmp"


def set_aside(path: Path) -> None:
    """Take away what somebody put in the place of a file of ours: a link, a pipe or a device goes, a file or a folder
    is kept beside it under another name. Nothing there is no error. Raises OSError."""
    try:
        mode = path.lstat().st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            path.rename(path.with_name(f"{path.name}.{os.getpid()}-{next(_serial)}.aside"))
        else:
            path.unlink()
    except FileNotFoundError:
        return


def remove_unfinished(folder: Path) -> None:
    """Remove what a killed writer left under a temporary name. Nobody may be writing there."""
    for path in folder.glob(".*.tmp"):
        path.unlink(missing_ok=True)


def write_new(path: Path, data: bytes) -> None:
    """Write a file that nobody looks for yet. Raises PlaceError or RecordError; then it may be there in part."""
    try:
        descriptor = create_file(path)
        try:
            write_all(descriptor, data)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise place_error(error, path, "write") from error


def write_over(path: Path, data: bytes, *, durable: bool = False) -> bool:
    """Write over a file in place, in one call that no kill can fall into; blanks fill what is left of it. Returns
    False, and leaves it as it is, where it is not there or has no room. ``durable``: it also lasts through a power cut.
    Costs a tenth of a replacement: no new file is made, and ext4 flushes none to the disk. Raises PlaceError or
    RecordError."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            room = os.fstat(descriptor).st_size
            if not len(data) <= room <= _ONE_PAGE:
                return False
            os.write(descriptor, data.ljust(room))
            if durable:
                os.fsync(descriptor)
            return True
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return False
    except OSError as error:
        if error.errno == errno.ENXIO:  # a pipe is in its place, which nobody reads
            return False
        raise place_error(error, path, "write") from error


def write_file(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Replace the file by rename: a reader sees the old bytes or the new ones. ``durable``: they also last through a
    power cut. Raises PlaceError or RecordError; then the old file is still there."""
    unfinished = temporary(path)
    try:
        descriptor = create_file(unfinished)
        try:
            write_all(descriptor, data)
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        try:
            os.replace(unfinished, path)  # noqa: PTH105 - Path.replace costs as much again as the call
        except IsADirectoryError:
            set_aside(path)
            os.replace(unfinished, path)  # noqa: PTH105
        if durable:
            sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise place_error(error, path, "write") from error


class LockTaken(Exception):
    """Another process or thread holds the lock file."""


@contextlib.contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Within this no other process or thread holds the lock file; the system lets go of a dead one's. Raises LockTaken
    at once where ``wait`` is false and somebody does, PlaceError or RecordError where it cannot be made."""
    # Not the library that takes the locks of the server: an item of a batch takes three, and one costs 180 µs there,
    # 4 µs here; and who waits here goes on at once, instead of looking again every 50 ms.
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    except OSError as error:
        raise place_error(error, path, "lock") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LockTaken(str(path)) from None
        except OSError as error:
            raise place_error(error, path, "lock") from error
        yield
    finally:
        os.close(descriptor)


def encode(value: Any) -> bytes:
    """JSON of plain data. Answers may hold lone surrogates, and metadata numbers of any length, both of which orjson
    refuses: the standard library writes them as escapes and digits."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(_finite(value), ensure_ascii=True, separators=(",", ":")).encode()


def _finite(value: Any) -> Any:
    """The value with null for NaN and infinities, as orjson writes them."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


LARGEST = 1 << 28  # bytes of a JSON file of ours: a record holds an answer, and answers are not of that size


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file. Raises FileNotFoundError where there is none, RecordDamaged where it is empty, torn,
    or something else, RecordError where it cannot be read."""
    try:
        data = read_regular(path, LARGEST)
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from None
    except OSError as error:
        raise place_error(error, path, "read") from error
    return decode_object(data, str(path))


def decode_object(data: bytes, path: str) -> dict[str, Any]:
    """The JSON object that the bytes of the file at ``path`` are. Raises RecordDamaged."""
    try:
        value = orjson.loads(data)
    except ValueError:
        try:
            value = json.loads(data)
        except (ValueError, RecursionError) as error:
            at = error.pos if isinstance(error, json.JSONDecodeError) else 0
            raise _damaged(data, path, at) from error
    if not isinstance(value, dict):
        raise _damaged(data, path, 0)
    return value


def _damaged(data: bytes, path: str, offset: int) -> RecordDamaged:
    if not data:
        what = "it is empty"
    elif b"\0" in data:
        offset = data.find(b"\0")
        what = f"NUL bytes from byte {offset}, as a crash of the machine leaves them"
    else:
        what = f"no JSON object, or one torn at byte {offset} of {len(data)}"
    return RecordDamaged(f"{path} is damaged: {what}", hint=DAMAGED_HINT, path=path, offset=offset)
