"""The folder of an attempt and the folder of a run: what may be read from them and written to them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from pydantic import ValidationError

from atomic.errors import AtomicError, RecordDamaged, RecordError
from atomic.framing import open_stream
from atomic.record.compress import put_to_rest
from atomic.record.facts import AttemptRecord, RunRecord, StreamFile
from atomic.record.files import (
    DAMAGED_HINT,
    FOLDER_MODE,
    LARGEST,
    decode_object,
    encode,
    place_error,
    read_object,
    write_file,
    write_new,
    write_over,
)
from atomic.record.layout import (
    ATTEMPT_FILE,
    CHECK_FILE,
    OVERLAY_FOLDER,
    PROMPT_FILE,
    RUN_FILE,
    SESSION_FILE,
    SESSION_FOLDER,
    STDERR_FILE,
    STREAM_FILE,
    attempt_name,
    attempt_number,
)
from atomic.record.reading import open_at_line, open_at_offset, read_lines
from atomic.record.redact import redact
from atomic.regular import read_regular
from atomic.text import Masker

if TYPE_CHECKING:
    from atomic.record.store import RunStore

_NOTE_ROOM = 64  # bytes left in the first attempt.json for the number and start time of the process


class AttemptFolder:
    """The files of one attempt. The paths are those of a live attempt; a stream at rest is found by the methods."""

    def __init__(self, path: Path, store: RunStore) -> None:
        self.path = path
        self.store = store

    def __repr__(self) -> str:
        return f"AttemptFolder({str(self.path)!r})"

    @cached_property
    def prompt(self) -> Path:
        """What was sent."""
        return self.path / PROMPT_FILE

    @cached_property
    def stream(self) -> Path:
        """The agent's stdout, while it is live."""
        return self.path / STREAM_FILE

    @cached_property
    def stderr(self) -> Path:
        """The agent's stderr."""
        return self.path / STDERR_FILE

    @cached_property
    def check(self) -> Path:
        """What the policy's check wrote, where there is one."""
        return self.path / CHECK_FILE

    @cached_property
    def session(self) -> Path:
        """The agent's own session file, if it writes one."""
        return self.path / SESSION_FOLDER / SESSION_FILE

    @cached_property
    def overlay(self) -> Path:
        """The agent's settings folder made for this attempt, while it runs and has one."""
        return self.path / OVERLAY_FOLDER

    @property
    def n(self) -> int:
        """The attempt's number, from 1; 0 for a folder that is not named as one."""
        return attempt_number(self.path.name) or 0

    @property
    def marker(self) -> str:
        """What every process of this attempt carries in its environment."""
        return f"{self.path.parent.name}/{self.n}"

    @property
    def durable(self) -> bool:
        """Whether what ends an attempt is made to last through a power cut: that blocks as long as a disk takes."""
        return self.store.fsync

    def create(self, prompt: bytes) -> None:
        """Make the folder, its session folder, and the prompt's file. Raises PlaceError, or RecordError where the
        attempt is there already."""
        try:
            self.path.mkdir(FOLDER_MODE)
            self.session.parent.mkdir(FOLDER_MODE)
        except FileExistsError as error:
            raise RecordError(f"{self.path} is there already: an attempt is made once", path=str(self.path)) from error
        except OSError as error:
            raise place_error(error, self.path, "make the folder") from error
        write_new(self.prompt, prompt)

    def read(self) -> AttemptRecord:
        """What ``attempt.json`` says. Raises RecordDamaged where it is missing, torn, or something else."""
        path = self.path / ATTEMPT_FILE
        try:
            return AttemptRecord.model_validate(read_object(path))
        except FileNotFoundError as error:
            raise RecordDamaged(f"{path} is missing", path=str(path), offset=0) from error
        except ValidationError as error:
            raise _unfit(path, error) from error

    def write(self, record: AttemptRecord) -> None:
        """Write ``attempt.json``; one with a verdict lasts through a power cut. Raises PlaceError, RecordError."""
        path = self.path / ATTEMPT_FILE
        data = encode(record.model_dump(mode="json", by_alias=True))
        if record.ended:
            write_file(path, data, durable=self.store.fsync)
        elif record.pid is None:
            write_new(path, data.ljust(len(data) + _NOTE_ROOM))  # there is no process yet that anybody could ask for
        elif not write_over(path, data):
            write_file(path, data)

    def redact(self, masker: Masker, lines: Iterable[int] = ()) -> dict[int, int]:
        """Take known secrets out of prompt, stream, stderr and session files, before the stream is put to rest. Returns
        where the named lines of the stream begin now. Blocks. Raises PlaceError, RecordError."""
        return redact(self.path, masker, lines=frozenset(lines), durable=self.store.fsync)

    def finish(self) -> StreamFile | None:
        """Put the stream to rest: compressed, read back, compared, the original removed. None where the agent was
        never started. May be called again after a kill at any point. Blocks for as long as the stream is long
        (a small one: well under a millisecond), so the event loop calls it in a thread. Raises PlaceError, RecordError;
        then the original is still there."""
        return put_to_rest(self.path, level=self.store.level, durable=self.store.fsync)

    def open_stream(self) -> BinaryIO:
        """The raw stream from its first byte, in whatever form it is. Raises PlaceError."""
        return open_stream(self.stream)

    def read_at(self, offset: int) -> BinaryIO:
        """The raw stream from a byte offset on (as evidence names it), without reading what is before."""
        return open_at_offset(self.path, offset)

    def read_at_line(self, line: int) -> BinaryIO:
        """The raw stream from a line on, counted from 1: event 900,000 opens without reading the rest."""
        return open_at_line(self.path, line)

    def lines(self, start: int = 1) -> Iterator[bytes]:
        """The raw lines from line ``start`` on, each with its LF; the last may lack it."""
        return read_lines(self.path, start)


class RunFolder:
    """The files of one run."""

    def __init__(self, path: Path, store: RunStore) -> None:
        self.path = path
        self.run_id = path.name
        self.store = store

    def __repr__(self) -> str:
        return f"RunFolder({str(self.path)!r})"

    @property
    def prompt(self) -> bytes:
        """The prompt as given. Raises RecordDamaged where it is missing."""
        path = self.path / PROMPT_FILE
        try:
            return read_regular(path, LARGEST)
        except FileNotFoundError as error:
            raise RecordDamaged(f"{path} is missing", path=str(path), offset=0) from error
        except OSError as error:
            raise place_error(error, path, "read") from error

    def read(self) -> RunRecord:
        """What ``run.json`` says. Raises RecordDamaged where it is missing, torn, or something else."""
        path = self.path / RUN_FILE
        try:
            return run_record(read_object(path), str(path))
        except FileNotFoundError as error:
            raise RecordDamaged(f"{path} is missing", path=str(path), offset=0) from error

    def write(self, record: RunRecord) -> None:
        """Replace ``run.json``; a final one lasts through a power cut. Raises PlaceError, RecordError."""
        data = encode(record.model_dump(mode="json", by_alias=True))
        write_file(self.path / RUN_FILE, data, durable=record.ended and self.store.fsync)

    def attempt(self, n: int) -> AttemptFolder:
        """Attempt n, from 1, whether or not it is there yet."""
        return AttemptFolder(self.path / attempt_name(n), self.store)

    def attempts(self) -> list[AttemptFolder]:
        """The attempts that are there, in order."""
        try:
            numbers = sorted(n for entry in os.scandir(self.path) if (n := attempt_number(entry.name)))
        except OSError as error:
            raise place_error(error, self.path, "read") from error
        return [self.attempt(n) for n in numbers]

    def finish(self, record: RunRecord) -> None:
        """Write the final ``run.json`` and hand the run over to the store, which moves it to where finished runs are
        kept. A move that fails is no error: it is noted and done later. Blocks. Raises PlaceError, RecordError where
        the record cannot be written."""
        self.write(record)
        with suppress(AtomicError):  # the record itself says it; the key's file is for when that has gone
            self.store.keys.settle(record)
        self.store.put_away(self)


def run_record(value: dict[str, object], path: str) -> RunRecord:
    """The record that the object of the file at ``path`` is. Raises RecordDamaged."""
    try:
        return RunRecord.model_validate(value)
    except ValidationError as error:
        raise _unfit(path, error) from error


def _unfit(path: Path | str, error: ValidationError) -> RecordDamaged:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "the object"
    return RecordDamaged(f"{path} is damaged: {where}: {first['msg']}", hint=DAMAGED_HINT, path=str(path), offset=0)


def decode_run(data: bytes, path: str) -> RunRecord:
    """The record in the bytes of the ``run.json`` at ``path``. Raises RecordDamaged."""
    return run_record(decode_object(data, path), path)


def decode_attempt(data: bytes, path: str) -> AttemptRecord:
    """The record in the bytes of the ``attempt.json`` at ``path``. Raises RecordDamaged."""
    try:
        return AttemptRecord.model_validate(decode_object(data, path))
    except ValidationError as error:
        raise _unfit(path, error) from error
