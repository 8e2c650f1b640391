"""Copying the user's files into a workspace: what is copied can be changed without changing theirs.

Where the file system shares blocks (btrfs, XFS), a copy costs no space until one of the two is written to. Hard links
are never made: an agent that wrote through one would write into the user's file.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path

_ONCE = 1 << 30  # bytes asked for in one call
_CANNOT = frozenset({errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EBADF})


def copy_files(source: Path, target: Path, files: Iterable[bytes]) -> list[bytes]:
    """Copy files and links of these relative paths, those that are there, into a folder that has none of them. Returns
    the paths that were copied. Pipes, sockets, and what stands behind a link to a folder, are passed over. Blocks.
    Raises OSError."""
    root, base = os.fsencode(source), os.fsencode(target)
    known, made = {b"": True}, {b""}
    copied = []
    for path in files:
        found = look(root, path, known)
        if found is None:
            continue  # deleted there, or not checked out
        parent = path.rpartition(b"/")[0]
        if parent not in made:
            os.makedirs(base + b"/" + parent, 0o700, exist_ok=True)  # noqa: PTH103 - names are bytes
            made.add(parent)
        _copy(root + b"/" + path, base + b"/" + path, found)
        copied.append(path)
    return copied


def look(root: bytes, path: bytes, known: dict[bytes, bool]) -> os.stat_result | None:
    """The file or link at a path below ``root``; None where there is neither, or the way there leads through a link.
    ``known`` keeps which folders are no links, from ``{b"": True}`` on."""
    if not _is_real(root, path.rpartition(b"/")[0], known):
        return None
    try:
        found = os.lstat(root + b"/" + path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found if stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode) else None


def _is_real(root: bytes, folder: bytes, known: dict[bytes, bool]) -> bool:
    if folder not in known:
        known[folder] = False
        if _is_real(root, folder.rpartition(b"/")[0], known):
            try:
                known[folder] = stat.S_ISDIR(os.lstat(root + b"/" + folder).st_mode)
            except OSError:
                return False
    return known[folder]


def _copy(source: bytes, target: bytes, found: os.stat_result) -> None:
    if stat.S_ISLNK(found.st_mode):
        os.symlink(os.readlink(source), target)  # noqa: PTH115, PTH211 - names are bytes
        return
    reading = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        # The workspace is its owner's alone; what git tells of a mode is whether the owner may execute the file.
        mode = 0o700 if found.st_mode & stat.S_IXUSR else 0o600
        writing = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        try:
            _copy_bytes(reading, writing)
            os.utime(writing, ns=(found.st_atime_ns, found.st_mtime_ns))
        finally:
            os.close(writing)
    finally:
        os.close(reading)


def _copy_bytes(reading: int, writing: int) -> None:
    """All bytes, by the file system itself where it can: then blocks are shared."""
    if hasattr(os, "copy_file_range"):
        try:
            while os.copy_file_range(reading, writing, _ONCE):
                pass
        except OSError as error:
            if error.errno not in _CANNOT:
                raise
        else:
            return
    # From where the other one has got to: both descriptors stand there.
    while chunk := os.read(reading, 1 << 20):
        view = memoryview(chunk)
        while view:
            view = view[os.write(writing, view) :]
