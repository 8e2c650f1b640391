"""The results files: ``results.jsonl`` has a line for every item that has ended, ``errors.jsonl`` those of the failed.

Both follow from the database: written anew by rename when an edition is begun, appended to as items end. A kill can
leave a torn line at their end, which the next beginning removes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from atomic.errors import PlaceError, RecordError
from atomic.record.files import encode, make_folder, place_error, read_object, write_all, write_file
from atomic.runner import RunResult
from atomic.verdict.facts import Status
from flows.database import ItemResult

RESULTS, ERRORS = "results.jsonl", "errors.jsonl"
NOTE = "batch.json"  # beside them: whose they are
_BUFFER = 1 << 20  # bytes written at once when the files are written anew
_FILE_MODE = 0o600


def result_line(custom_id: str, result: RunResult) -> str:
    """The line of an item: its id, and what `run --json` prints."""
    return encode({"custom_id": custom_id, **result.to_json()}).decode()


def check_output(folder: Path, batch: str) -> dict[str, Any]:
    """What the folder's note says; empty where it has none. Raises PlaceError for a folder that holds other results, or
    that cannot be one."""
    if folder.exists() and not folder.is_dir():
        raise PlaceError(f"{folder} is a file, not a folder for results", path=str(folder), reason="not a folder")
    try:
        note = read_object(folder / NOTE)
    except FileNotFoundError:
        note = {}
    except RecordError as error:
        raise _others(folder, f"{NOTE} cannot be read") from error
    if note and note.get("batch") != batch:
        raise _others(folder, f"its results are those of batch {note.get('batch')!r}")
    there = [name for name in (RESULTS, ERRORS) if os.path.lexists(folder / name)]
    if there and not note:
        raise _others(folder, f"it has a {there[0]}, and no {NOTE} that says whose that is")
    return note


def _others(folder: Path, why: str) -> PlaceError:
    return PlaceError(
        f"nothing is written to {folder}: {why}",
        hint="give another folder (-o), or move those files away",
        path=str(folder),
        reason="others",
    )


class ResultFiles:
    """The files of one edition, open for appending."""

    def __init__(self, folder: Path, batch: str, edition: str) -> None:
        self.results, self.errors = folder / RESULTS, folder / ERRORS
        self._batch, self._edition = batch, edition
        self._descriptors: dict[Path, int] = {}
        self._dirty = False

    @classmethod
    def begin(cls, folder: Path, batch: str, edition: str, ended: Iterable[ItemResult]) -> ResultFiles:
        """Write the files anew with what has ended. Those of another edition of the batch are kept under its name.
        Blocks. Raises PlaceError, RecordError."""
        files = cls(folder, batch, edition)
        files.write_anew(ended)
        return files

    @property
    def in_place(self) -> bool:
        """Whether the files are where they were written, and nobody has moved, removed or replaced one. Blocks."""
        return all(_is_at(descriptor, path) for path, descriptor in self._descriptors.items())

    def write_anew(self, ended: Iterable[ItemResult]) -> None:
        """Write the files with what has ended, where they belong, and go on with those. Blocks. Raises PlaceError,
        RecordError."""
        self.close()
        folder = self.results.parent
        note = check_output(folder, self._batch)
        make_folder(folder)
        if note and note.get("edition") != self._edition:
            _keep(folder, str(note.get("edition")))
        write_file(folder / NOTE, encode({"batch": self._batch, "edition": self._edition}), durable=True)
        try:
            self._rewrite(ended)
        except BaseException:
            self.close()
            raise

    def append(self, lines: Sequence[tuple[Status, str]]) -> None:
        """Add the lines of items that have ended: whole lines, in one write to each file. Raises PlaceError,
        RecordError."""
        failed = [line for status, line in lines if status is Status.FAILED]
        for path, some in ((self.results, [line for _, line in lines]), (self.errors, failed)):
            if some:
                try:
                    write_all(self._descriptors[path], "".join(f"{line}\n" for line in some).encode())
                except OSError as error:
                    raise place_error(error, path, "write") from error
                self._dirty = True

    def sync(self) -> None:
        """Make what was appended last through a power cut. Blocks."""
        if self._dirty:
            self._dirty = False
            for descriptor in self._descriptors.values():
                os.fsync(descriptor)

    def close(self) -> None:
        """Close the files."""
        while self._descriptors:
            os.close(self._descriptors.popitem()[1])

    def _rewrite(self, ended: Iterable[ItemResult]) -> None:
        new = {path: path.with_name(f".{path.name}.new") for path in (self.results, self.errors)}
        waiting: dict[Path, list[str]] = {path: [] for path in new}
        size = 0
        try:
            for path, unfinished in new.items():
                flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
                self._descriptors[path] = os.open(unfinished, flags, _FILE_MODE)
            for item in ended:
                line = f"{item.result}\n"
                waiting[self.results].append(line)
                if item.status is Status.FAILED:
                    waiting[self.errors].append(line)
                size += len(line)
                if size > _BUFFER:
                    self._flush(waiting)
                    size = 0
            self._flush(waiting)
            for path, unfinished in new.items():
                os.fsync(self._descriptors[path])
                unfinished.replace(path)  # the descriptor goes on with the file under its new name
        except OSError as error:
            raise place_error(error, self.results.parent, "write the results in") from error

    def _flush(self, waiting: dict[Path, list[str]]) -> None:
        for path, lines in waiting.items():
            write_all(self._descriptors[path], "".join(lines).encode())
            lines.clear()


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except OSError:
        return False


def _keep(folder: Path, edition: str) -> None:
    """Rename another edition's files, so that nothing is overwritten."""
    named = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in edition) or "before"
    for name in (RESULTS, ERRORS):
        path, n = folder / name, 1
        if not path.exists():
            continue
        while (kept := path.with_stem(f"{path.stem}-{named}" + (f"-{n}" if n > 1 else ""))).exists():
            n += 1
        path.rename(kept)
