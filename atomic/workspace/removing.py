"""Removing a folder that somebody hostile may have filled: nothing outside of it is touched, whatever is in it.

Names are taken relative to open descriptors of folders, links are never followed, other file systems never entered. No
space is needed. Folders that may not be entered are made enterable, deep ones are taken out and removed one by one.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DEEPEST = 40  # folders held open within each other: each takes a descriptor


def open_folder(path: Path | str, *, within: int | None = None) -> int:
    """A descriptor of a folder that is one itself, not a link. Raises OSError, NotADirectoryError for anything else."""
    try:
        return os.open(path, _FOLDER, dir_fd=within)
    except OSError as error:
        if error.errno == errno.ELOOP:  # what some systems say of a link
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from error
        raise


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[int]:
    """A descriptor of a folder that is one itself, not a link. Raises OSError."""
    descriptor = open_folder(folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def remove_within(parent: int, name: str) -> None:
    """Remove what has this name in an open folder: a file, a link (never what it points to), or a folder with all that
    is in it. What is not there is no error. Blocks. Raises OSError where something cannot be removed; the rest is."""
    assert name not in {"", ".", ".."} and "/" not in name, "a name, not a path"  # noqa: PT018
    removal = _Removal(parent, os.fstat(parent).st_dev)
    removal.take(parent, os.fsencode(name), 0)
    while removal.deep:
        removal.take(parent, removal.deep.pop(), 0)
    if removal.failed is not None:
        raise removal.failed


class _Removal:
    """One removal: what lies too deep is moved up into ``top`` under a name of its own, and removed from there."""

    def __init__(self, top: int, device: int) -> None:
        self._top = top
        self._device = device
        self._moved = 0
        self.deep: list[bytes] = []
        self.failed: OSError | None = None

    def take(self, parent: int, name: bytes, depth: int) -> None:
        try:
            found = os.lstat(name, dir_fd=parent)
            if not stat.S_ISDIR(found.st_mode):
                os.unlink(name, dir_fd=parent)
                return
            self._refuse_mounts(found, name)
            if depth > _DEEPEST:
                self._move_up(parent, name)
                return
            self._empty(parent, name, depth)
            os.rmdir(name, dir_fd=parent)
        except FileNotFoundError:
            return
        except OSError as error:
            self.failed = self.failed or error

    def _refuse_mounts(self, found: os.stat_result, name: bytes) -> None:
        if found.st_dev != self._device:
            raise OSError(errno.EXDEV, "another file system is mounted there", os.fsdecode(name))

    def _empty(self, parent: int, name: bytes, depth: int) -> None:
        folder = _open_folder(parent, name)
        try:
            for entry in names_in(folder):
                self.take(folder, os.fsencode(entry), depth + 1)
        finally:
            os.close(folder)

    def _move_up(self, parent: int, name: bytes) -> None:
        os.close(_open_folder(parent, name))  # a folder that may not be written to cannot be moved
        while True:
            self._moved += 1
            target = b".deep-%d" % self._moved
            try:
                os.rename(name, target, src_dir_fd=parent, dst_dir_fd=self._top)
            except OSError as error:
                if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                    raise
                continue
            self.deep.append(target)
            return


def names_in(folder: int) -> list[str]:
    """The names in an open folder."""
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]


def _open_folder(parent: int, name: bytes) -> int:
    """A descriptor of a folder whose owner may do anything in it from now on."""
    try:
        folder = os.open(name, _FOLDER, dir_fd=parent)
    except PermissionError:
        permit(name, stat.S_IRWXU, within=parent)
        folder = os.open(name, _FOLDER, dir_fd=parent)
    try:
        if os.fstat(folder).st_mode & stat.S_IRWXU != stat.S_IRWXU:
            os.fchmod(folder, stat.S_IRWXU)
    except BaseException:
        os.close(folder)
        raise
    return folder


def permit(path: bytes | str, mode: int, *, within: int | None = None) -> None:
    """Change the mode of a file or folder that may not be opened; of a link nothing, nor of what it points to."""
    if os.chmod in os.supports_follow_symlinks:
        os.chmod(path, mode, dir_fd=within, follow_symlinks=False)
        return
    held = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=within)
    try:
        if not stat.S_ISLNK(os.fstat(held).st_mode):
            os.chmod(f"/proc/self/fd/{held}", mode)  # noqa: PTH101 - what is held, whatever its name is now
    finally:
        os.close(held)
