"""Finished runs kept at any fsspec URL: moved there file by file, each read back before the local one goes."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from atomic.errors import AtomicError, PlaceError, RecordError
from atomic.record.files import FILE_MODE, make_folder, temporary
from atomic.record.layout import RUN_FILE, run_path
from atomic.regular import open_regular

# fsspec's file systems of these read only, or store by requests that few servers take.
_READ_ONLY = ("http", "https", "data", "github")
_FETCHED_FOR = 86400.0  # seconds a fetched run is kept: long enough to look around in it


class Elsewhere:
    """The root of finished runs where that is not the folder that live runs are written in."""

    def __init__(self, url: str) -> None:
        """Raises PlaceError for a URL that no installed file system can serve."""
        from fsspec.core import url_to_fs  # only here: a local store need not pay for its import

        try:
            if url.partition(":")[0] in _READ_ONLY:
                raise ValueError("nothing can be stored there")  # noqa: TRY301 - it is what fsspec should say
            fs, base = url_to_fs(url)
        except (ImportError, ValueError, OSError) as error:
            raise PlaceError(
                f"cannot keep records at {url}: {error}",
                hint="install the fsspec package of that protocol, or set another place for the records",
                path=url,
                reason=str(error),
            ) from error
        self.url = url
        self._fs: Any = fs
        self._base = base.rstrip("/")
        self._local = "file" in ((fs.protocol,) if isinstance(fs.protocol, str) else fs.protocol)

    def store(self, folder: Path) -> None:
        """Copy a finished run's folder, ``run.json`` last, so that a run that is listed is whole; every file is read
        back and compared. To be called again after any failure. Raises RecordError."""
        target = self._path(run_path(folder.name))
        files = sorted(_files(folder), key=lambda path: path == folder / RUN_FILE)
        try:
            for file in files:
                self._store_file(file, f"{target}/{file.relative_to(folder).as_posix()}")
        except AtomicError:
            raise
        except Exception as error:  # every file system has errors of its own
            raise self._error("store the run at", target, error) from error

    def _store_file(self, file: Path, target: str) -> None:
        if self._local:
            _copy(file, Path(target))
        else:
            self._fs.makedirs(target.rpartition("/")[0], exist_ok=True)
            self._fs.put_file(str(file), target)
        with open_regular(file) as mine, self._fs.open(target, "rb") as theirs:
            same = hashlib.file_digest(mine, "sha256").digest() == hashlib.file_digest(theirs, "sha256").digest()
        if not same:
            raise RecordError(f"{target} does not read back as it was written; the local copy is kept", path=target)

    def fetched(self, run_id: str, cache: Path) -> Path:
        """The run's folder in ``cache``, fetched there if it is not; a path that does not exist where there is no such
        run. What was fetched long ago is let go. Raises PlaceError, RecordError."""
        folder = cache / run_id
        if not folder.is_dir() and RUN_FILE in self.names(run_path(run_id)):
            _let_go(cache)
            unfinished = temporary(folder)
            try:
                self._fetch(self._path(run_path(run_id)), unfinished)
                with contextlib.suppress(OSError):  # another process has just fetched it too
                    unfinished.rename(folder)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
        return folder

    def _fetch(self, source: str, folder: Path) -> None:
        try:
            for name in map(str, self._fs.find(source)):
                target = folder / PurePosixPath(name).relative_to(source)
                make_folder(target.parent)
                self._fs.get_file(name, str(target))
                target.chmod(FILE_MODE)
        except AtomicError:
            raise
        except Exception as error:
            raise self._error("fetch the run from", source, error) from error

    def read(self, run_id: str, name: str = RUN_FILE) -> bytes | None:
        """The bytes of a file of a run, by its name within the run's folder; None where there is none. Raises
        RecordError."""
        path = f"{self._path(run_path(run_id))}/{name}"
        try:
            return bytes(self._fs.cat_file(path))
        except FileNotFoundError:
            return None
        except Exception as error:
            raise self._error("read", path, error) from error

    def remove(self, run_id: str) -> None:
        """Remove a run; one that is not there is no error. Raises RecordError."""
        path = self._path(run_path(run_id))
        try:
            self._fs.rm(path, recursive=True)
        except FileNotFoundError:
            return
        except Exception as error:
            raise self._error("remove", path, error) from error

    def names(self, folder: PurePosixPath) -> Iterator[str]:
        """The names in a folder, in no order; none where there is no such folder. Raises RecordError."""
        path = self._path(folder)
        try:
            found = self._fs.ls(path, detail=False)
        except (FileNotFoundError, NotADirectoryError):
            return
        except Exception as error:
            raise self._error("list", path, error) from error
        for name in found:
            yield PurePosixPath(str(name)).name

    def _path(self, relative: PurePosixPath) -> str:
        return f"{self._base}/{relative}" if relative.parts else self._base

    def _error(self, doing: str, path: str, error: Exception) -> RecordError:
        return RecordError(f"cannot {doing} {path} ({self.url}): {error}", path=path, reason=str(error))


def _copy(file: Path, target: Path) -> None:
    """Copy to another local disk or share: whole or not at all, for its owner's eyes only, as records are."""
    make_folder(target.parent)
    unfinished = temporary(target)
    try:
        shutil.copyfile(file, unfinished)
        unfinished.chmod(FILE_MODE)
        with open_regular(unfinished) as copy:
            os.fsync(copy.fileno())
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def _files(folder: Path) -> Iterator[Path]:
    """What belongs to the record: no half-written files, and never what a link leads to."""
    for parent, _, names in os.walk(folder):
        for path in (Path(parent, name) for name in names if not name.endswith(".tmp")):
            if path.is_file() and not path.is_symlink():
                yield path


def _let_go(cache: Path) -> None:
    oldest = time.time() - _FETCHED_FOR
    for path in cache.glob("*"):
        with contextlib.suppress(OSError):  # another process lets it go too
            if path.stat().st_mtime < oldest:
                shutil.rmtree(path)
