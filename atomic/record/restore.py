"""A record made whole again, whose files the agent or its tools have removed or replaced: agents clean up, and the
records are files like any other to them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from atomic.errors import AtomicError
from atomic.record.facts import AttemptRecord
from atomic.record.files import create_file, make_folder, place_error, set_aside, temporary, write_all, write_new
from atomic.record.folders import AttemptFolder, RunFolder
from atomic.record.layout import PROMPT_FILE

_COPY_BYTES = 1 << 20


def made_whole(folder: AttemptFolder, prompt: bytes, stream: int, *, read: int) -> tuple[str, ...]:
    """See that an attempt's folder holds what its agent was sent and wrote, and make it again where it does not: the
    prompt from ``prompt``, the stream from the descriptor by which it was followed, of which ``read`` bytes were read.
    Returns what was found wrong; what cannot be made again is told too, and is no error. Blocks as long as it takes
    to copy the stream, where it has to."""
    try:
        original, found = os.fstat(stream), _what_is_at(folder.stream)
        if found is None or not os.path.samestat(original, found):
            _make_folders(folder, prompt)
            set_aside(folder.stream)
            _copy(stream, folder.stream)
            what = "was removed" if found is None else "was replaced"
            return (f"{folder.stream} {what} while the agent was at work: it is made again from what was still open",)
        if original.st_size < read:
            cut = f"{folder.stream} was cut to {original.st_size} bytes while the agent was at work"
            return (f"{cut}; {read} bytes of it had been read, and the verdict is by these",)
    except (AtomicError, OSError) as error:
        told = place_error(error, folder.path, "make whole") if isinstance(error, OSError) else error
        return (told.message,)
    return ()


def made_again(folder: RunFolder, prompt: bytes, attempts: Sequence[AttemptRecord]) -> bool:
    """Make a run's folder again where it has been removed, with its prompt and what is known of its attempts; their
    streams are gone. Says whether it had to. Raises PlaceError, RecordError."""
    if (folder.path / PROMPT_FILE).exists():
        return False
    _make_folder(folder.path)
    write_new(folder.path / PROMPT_FILE, prompt)
    for attempt in attempts:
        at = folder.attempt(attempt.n)
        if not at.path.is_dir():
            make_folder(at.path)
            at.write(attempt)
    return True


def _make_folders(folder: AttemptFolder, prompt: bytes) -> None:
    for path in (folder.path.parent, folder.path, folder.session.parent):
        _make_folder(path)
    if not folder.prompt.exists():
        write_new(folder.prompt, prompt)


def _make_folder(path: Path) -> None:
    if not path.is_dir():
        set_aside(path)
    make_folder(path)


def _what_is_at(path: Path) -> os.stat_result | None:
    """What stands there, no link being followed; None where there is nothing, or its folder has gone."""
    try:
        return path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _copy(source: int, target: Path) -> None:
    """Copy an open file from its first byte to its last: whole or not at all. Raises OSError."""
    unfinished = temporary(target)
    try:
        copy = create_file(unfinished)
        try:
            at = 0
            while chunk := os.pread(source, _COPY_BYTES, at):
                write_all(copy, chunk)
                at += len(chunk)
        finally:
            os.close(copy)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
