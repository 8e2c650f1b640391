"""Finished runs kept at any fsspec URL: moved there file by file, each read back before the local one goes."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from atomic.errors import AtomicError, PlaceError, RecordError, RunNotFound
from atomic.record.files import FILE_MODE, make_folder
from atomic.record.layout import RUN_FILE, run_path

_CHUNK = 1 << 20


class Elsewhere:
    """The root of finished runs where that is not the folder that live runs are written in."""

    def __init__(self, url: str) -> None:
        """Raises PlaceError for a URL that no installed file system can serve."""
        from fsspec.core import url_to_fs  # type: ignore[import-untyped]  # only here: a local store need not pay for its import

        try:
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

    def store(self, folder: Path) -> None:
        """Copy a finished run's folder, ``run.json`` last, so that a run that is listed is whole; every file is read
        back and compared. To be called again after any failure. Raises RecordError."""
        target = self._path(run_path(folder.name))
        files = [path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(".tmp")]
        files.sort(key=lambda path: path == folder / RUN_FILE)
        try:
            for file in files:
                self._store_file(file, f"{target}/{file.relative_to(folder).as_posix()}")
        except AtomicError:
            raise
        except Exception as error:  # every file system has errors of its own
            raise self._error("store the run at", target, error) from error

    def _store_file(self, file: Path, target: str) -> None:
        self._fs.makedirs(target.rpartition("/")[0], exist_ok=True)
        self._fs.put_file(str(file), target)
        with file.open("rb") as mine, self._fs.open(target, "rb") as theirs:
            same = hashlib.file_digest(mine, "sha256").digest() == hashlib.file_digest(theirs, "sha256").digest()
        if not same:
            raise RecordError(f"{target} does not read back as it was written; the local copy is kept", path=target)

    def fetch(self, run_id: str, folder: Path) -> None:
        """Copy a run's folder here; ``run.json`` comes last. Raises RunNotFound, PlaceError, RecordError."""
        source = self._path(run_path(run_id))
        if RUN_FILE not in self.names(run_path(run_id)):
            raise RunNotFound(f"no record of run {run_id} at {self.url}", run_id=run_id, nearest=())
        try:
            names = [str(name) for name in self._fs.find(source)]
            for name in sorted(names, key=lambda name: name == f"{source}/{RUN_FILE}"):
                target = folder / PurePosixPath(name).relative_to(source)
                make_folder(target.parent)
                self._fs.get_file(name, str(target))
                target.chmod(FILE_MODE)
        except AtomicError:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        except Exception as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise self._error("fetch the run from", source, error) from error

    def read(self, run_id: str) -> bytes:
        """The bytes of a run's ``run.json``. Raises FileNotFoundError, RecordError."""
        path = f"{self._path(run_path(run_id))}/{RUN_FILE}"
        try:
            return bytes(self._fs.cat_file(path))
        except FileNotFoundError:
            raise
        except Exception as error:
            raise self._error("read", path, error) from error

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
