"""The file of an input: opened, its format told, and its fingerprint taken."""

from __future__ import annotations

import hashlib
import io
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atomic.errors import PlaceError, UsageError
from atomic.framing.decode import BOM
from atomic.settings.problems import nearest

# Format → the suffixes that say it. OpenAI's lines are told by what is in them; naming the format demands them.
FORMATS = {
    "jsonl": (".jsonl", ".ndjson"),
    "csv": (".csv",),
    "yaml": (".yaml", ".yml"),
    "text": (".txt",),
    "openai": (),
}
BUFFER = 128 * 1024  # bytes read at once: larger makes nothing faster
STDIN = Path("-")  # what other commands mean by it, if nobody has a file of that name
NO_FILE = "it is no ordinary file, and an input is read more than once"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Which bytes a file held: their sha256 in hex, how many, and when they were last written."""

    path: Path
    sha256: str
    size: int
    mtime_ns: int

    def changed(self) -> bool:
        """Whether the file holds other bytes now, or none. It is read again only where its time or size differ."""
        try:
            now = self.path.stat()
            if (now.st_size, now.st_mtime_ns) == (self.size, self.mtime_ns):
                return False
            return now.st_size != self.size or take_fingerprint(self.path).sha256 != self.sha256
        except (OSError, PlaceError):
            return True


class Source(io.RawIOBase):
    """The bytes of a file, hashed as they are read. Raises PlaceError where it cannot be read."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self._file = _open(path)
        self._sum = hashlib.sha256()
        self._before = os.fstat(self._file.fileno())

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = self._file.readinto(buffer)
        self._sum.update(memoryview(buffer)[:size])
        return size

    def close(self) -> None:
        self._file.close()
        super().close()

    def fingerprint(self) -> Fingerprint | None:
        """The fingerprint of the whole file, whose rest is read for it; None if it was written to meanwhile."""
        rest = bytearray(BUFFER)
        while self.readinto(rest):
            pass
        before, after = self._before, os.fstat(self._file.fileno())
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            return None
        return Fingerprint(self.path, self._sum.hexdigest(), after.st_size, after.st_mtime_ns)


def take_fingerprint(path: Path) -> Fingerprint:
    """Read a file for its fingerprint alone. Raises PlaceError where it cannot be read, or changes meanwhile."""
    with Source(path) as source:
        found = source.fingerprint()
    if found is None:
        raise PlaceError(
            f"{path} changed while it was read",
            hint="Start again when it is written.",
            path=str(path),
            reason="changed",
        )
    return found


def format_of(path: Path, named: str | None) -> str:
    """The format of a file: the one that was named, else what its suffix says. Raises UsageError."""
    if named is not None:
        if named in FORMATS:
            return named
        meant = nearest(named, FORMATS)
        raise UsageError(
            f"unknown format {named!r}" + (f"; did you mean {meant!r}?" if meant else ""),
            hint=f"Known: {', '.join(FORMATS)}.",
            nearest=meant,
        )
    suffix = path.suffix.lower()
    for name, suffixes in FORMATS.items():
        if suffix in suffixes:
            return name
    if path == STDIN or (path.exists() and not path.is_file()):
        raise _unreadable(path, "it is a folder" if path.is_dir() else NO_FILE)
    known = ", ".join(suffix for suffixes in FORMATS.values() for suffix in suffixes)
    raise UsageError(
        f"cannot tell the format of {path} by its name",
        hint=f"Name it ({', '.join(FORMATS)}), or give the file one of the suffixes {known}.",
    )


def is_utf_16(file: io.BufferedReader) -> bool:
    """Whether the file says of itself that it is UTF-16, as some spreadsheets write text."""
    return file.peek(2)[:2] in _UTF_16


def skip_mark(file: io.BufferedReader) -> None:
    """Pass over the byte order mark that some editors put before UTF-8."""
    if file.peek(len(BOM)).startswith(BOM):
        file.read(len(BOM))


def numbered_lines(file: io.BufferedReader) -> Iterator[tuple[int, bytes]]:
    """Every line with its number from 1, without its LF or CRLF. Only LF ends a line: U+2028 and their like are
    text. A line may have any length."""
    for n, line in enumerate(file, 1):
        yield n, line.removesuffix(b"\n").removesuffix(b"\r")


def _open(path: Path) -> io.FileIO:
    try:
        # Opened before it is looked at, so that it is the same file; and without waiting, should it be a pipe.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        reason = NO_FILE if path == STDIN else (getattr(error, "strerror", None) or str(error)).lower()
        raise _unreadable(path, reason) from error
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return io.FileIO(handle, "rb")
    os.close(handle)
    raise _unreadable(path, "it is a folder" if stat.S_ISDIR(mode) else NO_FILE)


def _unreadable(path: Path, reason: str) -> PlaceError:
    hint = "write what it gives to a file first, and name that" if reason == NO_FILE else None
    return PlaceError(f"cannot read {path}: {reason}", hint=hint, path=str(path), reason=reason)
