"""Keys of idempotence: one run for each key, until one is answered; then its answer for ever."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from atomic.errors import RecordDamaged, RunNotFound, UsageError
from atomic.record.facts import Owner, RunRecord, RunStatus
from atomic.record.files import encode, locked, make_folder, read_object, write_file, write_over
from atomic.record.owner import OwnerState, state_of, this_process
from atomic.verdict.facts import Facts

# Bytes left in a claimed key's file, so that its run's id and end are written over it: no file is made for either.
_ROOM = 64


class KeyNote(Facts):
    """What a key's file says. ``run_id`` is None between the claim and the run's creation; ``status`` is the run's, for
    when its record has gone."""

    key: str
    owner: Owner
    claimed_at: float
    run_id: str | None = None
    status: RunStatus = "running"


@dataclass(frozen=True, slots=True)
class Claim:
    """What a claim came to. With neither an answered run nor an orphan the key is the caller's: the next thing is
    ``RunStore.create(key=…)``, or ``RunStore.release(key)`` when it comes to nothing."""

    key: str
    answered: RunRecord | None = None  # nothing is to be bought: this is the answer
    orphan: str | None = None  # id of a run whose owner died before it ended: recover it, then claim again


class KeyRing:
    """The keys of a store, in a folder that all its processes see."""

    def __init__(self, folder: Path, read_run: Callable[[str], RunRecord], *, durable: bool) -> None:
        """``read_run`` gives the record of a run id, raising RunNotFound or RecordDamaged."""
        self.folder = folder
        self._read_run = read_run
        self._durable = durable
        self._turn = threading.Lock()

    def bound(self, key: str) -> RunRecord | None:
        """The run that the key stands for; None where there is none. Raises RecordDamaged."""
        note = self._note(key)
        if note is None or note.run_id is None:
            return None
        try:
            return self._read_run(note.run_id)
        except RunNotFound:
            return None

    def claim(self, key: str) -> Claim:
        """Take the key, unless its run is answered, on its way, or to be recovered first. Exclusive between all
        processes. Raises UsageError where a living process has it, or one on another machine may have it, and where
        the record of its run has gone that was answered, or may have been: nothing is bought twice unasked."""
        with self._alone():
            note = self._note(key)
            if note is not None:
                held = self._held(note)
                if held is not None:
                    return held
            self._write(KeyNote(key=key, owner=this_process(), claimed_at=time.time()), room=_ROOM)
            return Claim(key)

    def bind(self, key: str, run_id: str) -> None:
        """The claimed key stands for this run from now on; its record is there. Raises PlaceError, RecordError."""
        with self._alone():
            note = KeyNote(key=key, owner=this_process(), claimed_at=time.time(), run_id=run_id)
            self._write_over(note, durable=self._durable)

    def settle(self, run: RunRecord) -> None:
        """Note what the run of a key came to, also where the agent took the key's file away meanwhile. A key that
        stands for another run by now stays with that. Raises PlaceError, RecordError."""
        if run.key is None:
            return
        with self._alone():
            note = self._note(run.key)
            if note is None or note.run_id in (None, run.run_id):
                owner = run.owner or this_process()
                at = run.created_at if note is None else note.claimed_at
                told = KeyNote(key=run.key, owner=owner, claimed_at=at, run_id=run.run_id, status=run.status)
                self._write_over(told)

    def release(self, key: str) -> None:
        """Give back a claimed key that no run was made for."""
        with self._alone():
            note = self._note(key)
            if note is not None and note.run_id is None and note.owner == this_process():
                self._file(key).unlink(missing_ok=True)

    def forget(self, key: str, run_id: str) -> None:
        """The run is no more, by somebody's will: the key is free, unless it stands for another run by now."""
        with self._alone():
            note = self._note(key)
            if note is not None and note.run_id == run_id:
                self._file(key).unlink(missing_ok=True)

    def _held(self, note: KeyNote) -> Claim | None:
        """The claim's result where the key is not free. Raises UsageError."""
        if note.run_id is not None:
            try:
                run = self._read_run(note.run_id)
            except RunNotFound:
                if note.status == "failed":
                    return None
                if note.status == "answered" or state_of(note.owner) is OwnerState.DEAD:
                    raise _lost(note, self._file(note.key)) from None
            except RecordDamaged:
                pass  # its owner is about to write it, or died over it
            else:
                if run.ended:
                    return Claim(note.key, answered=run) if run.status == "answered" else None
        state = state_of(note.owner)
        if state is OwnerState.DEAD:
            return None if note.run_id is None else Claim(note.key, orphan=note.run_id)
        raise _taken(note, self._file(note.key), elsewhere=state is OwnerState.ELSEWHERE)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        # One lock for all keys: it is held for two small files, and a lock file for each key would stay for ever.
        # Threads of one process take turns before: who waits for a file lock looks again only after 50 ms.
        make_folder(self.folder)
        with self._turn, locked(self.folder / ".lock"):
            yield

    def _file(self, key: str) -> Path:
        return self.folder / hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()

    def _note(self, key: str) -> KeyNote | None:
        path = self._file(key)
        try:
            return KeyNote.model_validate(read_object(path))
        except FileNotFoundError:
            return None
        except ValidationError as error:
            raise _unreadable(f"{path} is damaged: it is no key's file", path) from error
        except RecordDamaged as error:
            raise _unreadable(error.message, path) from error

    def _write(self, note: KeyNote, *, room: int = 0) -> None:
        data = _bytes_of(note)
        write_file(self._file(note.key), data.ljust(len(data) + room), durable=self._durable)

    def _write_over(self, note: KeyNote, *, durable: bool = False) -> None:
        if not write_over(self._file(note.key), _bytes_of(note), durable=durable):
            self._write(note, room=_ROOM)


def _bytes_of(note: KeyNote) -> bytes:
    return encode(note.model_dump(mode="json"))


def _unreadable(message: str, path: Path) -> RecordDamaged:
    hint = "look whether its run was answered (run.json names the key), then remove that file: it frees the key"
    return RecordDamaged(message, hint=hint, path=str(path), offset=0)


def _lost(note: KeyNote, path: Path) -> UsageError:
    what = "was answered" if note.status == "answered" else "may have been answered"
    return UsageError(
        f"key {note.key!r} stands for run {note.run_id}, which {what}, and whose record is not there any more",
        hint=f"use another key; to buy the answer again with this one, remove {path}",
        key=note.key,
        run_id=note.run_id,
        file=str(path),
    )


def _taken(note: KeyNote, path: Path, *, elsewhere: bool) -> UsageError:
    try:
        since = datetime.fromtimestamp(note.claimed_at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        since = "a time that no calendar has"
    run = f", run {note.run_id}" if note.run_id else ""
    return UsageError(
        f"key {note.key!r} is already running: process {note.owner.pid} on {note.owner.host} since {since}{run}",
        hint=f"if that machine is gone, remove {path}" if elsewhere else "wait for it, stop it, or use another key",
        key=note.key,
        run_id=note.run_id,
        owner=note.owner.model_dump(),
        since=note.claimed_at,
    )
