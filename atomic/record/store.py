"""The store of runs: makes them, finds them, lists them, and puts finished ones where they are kept."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from atomic.errors import PlaceError, RecordDamaged, RecordError, RunNotFound
from atomic.record.compress import LEVEL
from atomic.record.elsewhere import Elsewhere
from atomic.record.facts import AttemptRecord, RunRecord
from atomic.record.files import (
    FOLDER_MODE,
    LARGEST,
    encode,
    make_folder,
    place_error,
    read_object,
    write_file,
    write_new,
)
from atomic.record.folders import RunFolder, decode_attempt, decode_run
from atomic.record.keys import Claim, KeyRing
from atomic.record.layout import (
    ATTEMPT_FILE,
    PROMPT_FILE,
    RUN_FILE,
    attempt_name,
    first_id,
    is_run_id,
    new_run_id,
    run_path,
)
from atomic.record.listing import Names, find_run_id, local_names, not_found, run_ids
from atomic.record.live import LiveIndex
from atomic.record.occupants import Occupants
from atomic.record.owner import this_process
from atomic.regular import read_regular
from atomic.text import Masker

_ID_TRIES = 8  # two runs of one millisecond meet once in a thousand million times


class RunStore:
    """Runs below ``root``; live ones below ``spool``, which is the same folder where the root is local."""

    def __init__(
        self,
        root: str | Path,
        *,
        home: Path,
        spool: Path | None = None,
        fsync: bool = True,
        level: int = LEVEL,
        redact: Masker | None = None,
    ) -> None:
        """``root`` is a path or any fsspec URL; ``home`` holds the lists of open and unmoved runs; ``fsync`` makes what
        ends an attempt or a run last through a power cut. With ``redact`` the files of an attempt lose the secrets it
        hides, and those that the agent holds, when the attempt has ended; without, the record is byte-exact.
        Raises PlaceError for a root that nothing can serve."""
        local = _local_path(root)
        self.root = str(root)
        self.home = home
        self.spool = spool or local or home / "spool"
        self.fsync = fsync
        self.level = level
        self.redact = redact
        self.live = LiveIndex(home / "live")
        self.occupants = Occupants(self)
        self.keys = KeyRing((local or home) / "keys", self.read, durable=fsync)
        self._elsewhere = None if self.spool == local else Elsewhere(self.root)
        self._pending = home / "pending"

    def create(self, prompt: bytes, *, key: str | None = None, **fields: Any) -> RunFolder:
        """A new run with its prompt and a ``run.json`` that says it is running and owned by this process. ``fields``
        are those of RunRecord. Raises PlaceError, RecordError; then nothing is left behind, and ``key`` is free."""
        owner = this_process()
        try:
            for _ in range(_ID_TRIES):
                now = time.time()
                run_id = new_run_id(now)
                folder = RunFolder(self.spool / run_path(run_id), self)
                self.live.enter(run_id, folder.path, owner, self.root)
                try:
                    if not _make_exclusively(folder.path):
                        self.live.leave(run_id)
                        continue
                    write_new(folder.path / PROMPT_FILE, prompt)
                    folder.write(RunRecord(run_id=run_id, key=key, owner=owner, created_at=now, **fields))
                    if key is not None:  # last: a key whose run has no record has lost it
                        self.keys.bind(key, run_id)
                except BaseException:
                    if key is not None:
                        self.keys.forget(key, run_id)
                    shutil.rmtree(folder.path, ignore_errors=True)
                    self.live.leave(run_id)
                    raise
                return folder
        except BaseException:
            if key is not None:
                self.keys.release(key)
            raise
        raise RecordError(f"no free run id below {self.spool}", path=str(self.spool))

    def open(self, run_id: str) -> RunFolder:
        """The run of a whole id; one that is kept elsewhere is fetched. Raises RunNotFound, PlaceError, RecordError."""
        if is_run_id(run_id):
            path = self.spool / run_path(run_id)
            if not path.is_dir() and self._elsewhere is not None:
                path = self._elsewhere.fetched(run_id, self.home / "fetched")
            if path.is_dir():
                return RunFolder(path, self)
        raise not_found(self._sources(), run_id)

    def resolve(self, text: str) -> str:
        """The run id that ``latest``, a whole id or the unique beginning of one names. Raises RunNotFound with the
        nearest ids in ``nearest``."""
        return find_run_id(self._sources(), text)

    def find(self, text: str) -> RunFolder:
        """The run that ``latest``, a whole id or the unique beginning of one names. Raises RunNotFound, RecordError."""
        return self.open(self.resolve(text))

    def read(self, run_id: str) -> RunRecord:
        """The record of a whole id, without fetching the run. Raises RunNotFound, RecordDamaged, RecordError."""
        if is_run_id(run_id):
            path = self.spool / run_path(run_id)
            if path.is_dir():
                return RunFolder(path, self).read()
            if self._elsewhere is not None and (data := self._elsewhere.read(run_id)) is not None:
                return decode_run(data, f"{self.root}/{run_path(run_id)}/{RUN_FILE}")
        raise not_found(self._sources(), run_id)

    def read_attempts(self, run: RunRecord) -> list[AttemptRecord]:
        """The records of a run's attempts, without fetching the run; those that are missing or damaged are passed over.
        Raises RecordError where a file system fails."""
        path = self.spool / run_path(run.run_id)
        found = []
        if path.is_dir():
            for folder in RunFolder(path, self).attempts():
                with contextlib.suppress(RecordDamaged):
                    found.append(folder.read())
        elif self._elsewhere is not None:
            for n in range(1, len(run.attempts) + 1):
                name = f"{attempt_name(n)}/{ATTEMPT_FILE}"
                data = self._elsewhere.read(run.run_id, name)
                with contextlib.suppress(RecordDamaged):
                    if data is not None:
                        found.append(decode_attempt(data, f"{self.root}/{run_path(run.run_id)}/{name}"))
        return found

    def prompt_head(self, run_id: str, most: int) -> bytes:
        """The first bytes of a run's prompt, without fetching the run; none where it cannot be read."""
        path = self.spool / run_path(run_id)
        with contextlib.suppress(OSError, RecordError):
            if path.is_dir():
                return read_regular(path / PROMPT_FILE, LARGEST)[:most]
            if self._elsewhere is not None:
                return (self._elsewhere.read(run_id, PROMPT_FILE) or b"")[:most]
        return b""

    def ids(self, prefix: str = "") -> Iterator[str]:
        """The ids of all runs that begin so, the newest first. Reads no record."""
        return run_ids(self._sources(), prefix)

    def iter_runs(
        self,
        *,
        since: float | None = None,
        until: float | None = None,
        on_damaged: Callable[[RecordError], None] | None = None,
    ) -> Iterator[RunRecord]:
        """All runs, the newest first; with ``since`` and ``until`` (seconds since the epoch) those created from the one
        on and before the other. What cannot be read is passed over and told to ``on_damaged``."""
        oldest = "" if since is None else first_id(since)
        end = None if until is None else first_id(until)
        for run_id in self.ids():
            if run_id < oldest:
                return
            if end is not None and run_id >= end:
                continue
            try:
                yield self.read(run_id)
            except RunNotFound:
                continue  # removed meanwhile
            except RecordError as error:
                if on_damaged is not None:
                    on_damaged(error)

    def by_key(self, key: str) -> RunRecord | None:
        """The run that a key of idempotence stands for; None where there is none. Raises RecordDamaged."""
        return self.keys.bound(key)

    def claim(self, key: str) -> Claim:
        """Take a key before its run is created: see Claim for what may come of it. ``atomic.recovery.claim`` is the
        same and recovers an orphan by itself. Raises UsageError where the key's run is on its way."""
        return self.keys.claim(key)

    def release(self, key: str) -> None:
        """Give back a claimed key that no run was created for."""
        self.keys.release(key)

    def remove(self, run_id: str) -> None:
        """Remove a run that has ended, for good, and free its key. One that is not there, or only in part, is no error:
        to be called again after a kill. Raises RecordError, PlaceError."""
        path = self.spool / run_path(run_id)
        gone = path.with_name(f".{run_id}.removed")  # a reader finds the whole run, or none
        with contextlib.suppress(RunNotFound, RecordDamaged):
            run = self.read(run_id)
            if run.key is not None:
                self.keys.forget(run.key, run_id)
        try:
            with contextlib.suppress(FileNotFoundError):
                path.rename(gone)
            for folder in (gone, self.home / "fetched" / run_id):
                if folder.is_dir():
                    shutil.rmtree(folder)
        except OSError as error:
            raise place_error(error, path, "remove") from error
        if self._elsewhere is not None:
            self._elsewhere.remove(run_id)

    def put_away(self, folder: RunFolder) -> None:
        """Move a finished run to where finished runs are kept, now or, if that fails, later; it is no longer open."""
        if self._elsewhere is not None:
            make_folder(self._pending)
            write_file(self._pending / f"{folder.run_id}.json", encode({"folder": str(folder.path), "root": self.root}))
        self.live.leave(folder.run_id)
        if self._elsewhere is not None:
            with contextlib.suppress(RecordError):  # noted above: the next start tries again
                self._move(folder.path, self._elsewhere)

    def move_pending(self) -> tuple[int, list[RecordError]]:
        """Try again what could not be moved. Returns how many runs were, and why others were not."""
        moved, failures = 0, []
        for note in sorted(self._pending.glob("*.json")):
            try:
                facts = read_object(note)
                root = str(facts["root"])
                target = self._elsewhere if root == self.root and self._elsewhere else Elsewhere(root)
                self._move(Path(str(facts["folder"])), target)
                moved += 1
            except FileNotFoundError:
                continue  # another process moved it
            except (RecordError, PlaceError, KeyError) as error:
                failures.append(error if isinstance(error, RecordError) else RecordDamaged(str(error), path=str(note)))
        return moved, failures

    def _move(self, folder: Path, target: Elsewhere) -> None:
        note = self._pending / f"{folder.name}.json"
        if folder.is_dir():
            target.store(folder)
            gone = folder.with_name(f".{folder.name}.moved")  # a reader finds the whole local run, or none
            folder.replace(gone)
            shutil.rmtree(gone, ignore_errors=True)
        note.unlink(missing_ok=True)

    def _sources(self) -> list[Names]:
        local = local_names(self.spool)
        return [local] if self._elsewhere is None else [local, self._elsewhere.names]


def _make_exclusively(path: Path, *, again: bool = False) -> bool:
    """Make a run's folder; False where that name is taken. Raises PlaceError."""
    try:
        path.mkdir(FOLDER_MODE)
    except FileExistsError:
        return False
    except FileNotFoundError as error:
        if again:
            raise place_error(error, path, "make the folder") from error
        make_folder(path.parent)
        return _make_exclusively(path, again=True)
    except OSError as error:
        raise place_error(error, path, "make the folder") from error
    return True


def _local_path(root: str | Path) -> Path | None:
    """The folder that a root is; None for one on another file system."""
    if isinstance(root, Path):
        return root.absolute()
    if root.startswith(("file:", "local:")):
        root = root.partition(":")[2].removeprefix("//")
    elif "://" in root or "::" in root:
        return None
    return Path(root).expanduser().absolute()
