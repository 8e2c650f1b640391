"""An attempt's files without the secrets that are known, for those who set ``record.redact``: the one case in which the
record is not what the agent wrote, byte for byte.

Lines stay lines and records stay records, so that evidence and counts keep their line numbers; their offsets move.
Updates keep nothing but their type: they tell in pieces what a later record tells whole, and a secret that was cut into
pieces cannot be found. Headers are masked whole, wherever an object has some: ``model_changed`` repeats those of a
model, whose keys may come from a command and be known to nobody.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection
from io import BufferedReader
from pathlib import Path
from typing import Any

from atomic.framing import decode
from atomic.framing.pending import leading_type
from atomic.record.files import create_file, encode, place_error, sync_folder, temporary
from atomic.record.layout import PROMPT_FILE, SESSION_FOLDER, STDERR_FILE, STREAM_FILE
from atomic.regular import open_regular
from atomic.text import MASK, Masker

_UPDATES = frozenset({"message_update", "tool_execution_update", "bash_execution_update"})
HEADERS = b'"headers"'
_MOST_NESTED = 100  # deeper ones are no records of an agent


def redact(folder: Path, masker: Masker, *, lines: Collection[int] = (), durable: bool = False) -> dict[int, int]:
    """Rewrite prompt, stream, stderr and session files of an attempt's folder. Returns where the named lines of the
    stream begin now. May be called again after a kill at any point. Raises PlaceError, RecordError; then what was not
    rewritten is as it was."""
    offsets: dict[int, int] = {}
    sessions = sorted(path for path in (folder / SESSION_FOLDER).glob("*") if path.is_file() and not path.is_symlink())
    for path in (folder / STREAM_FILE, folder / PROMPT_FILE, folder / STDERR_FILE, *sessions):
        with contextlib.suppress(FileNotFoundError):
            found = _rewrite(path, masker, lines if path.name == STREAM_FILE else (), durable=durable)
            offsets |= found
    return offsets


def redact_lines(path: Path, masker: Masker, *, durable: bool = False) -> None:
    """Rewrite one file without known secrets. Raises FileNotFoundError, PlaceError, RecordError; then it is as it
    was."""
    _rewrite(path, masker, (), durable=durable)


def redacted_line(line: bytes, masker: Masker) -> bytes:
    """A line of a stream or of a session file, without its secrets."""
    if line.startswith(b"{"):
        kind = leading_type(line) or (_type_of(line) if b"_update" in line else "")
        if kind in _UPDATES:
            return f'{{"type":"{kind}"}}\n'.encode() if line.endswith(b"\n") else f'{{"type":"{kind}"'.encode()
        if HEADERS in line:
            line = without_headers(line)
    return masker.raw(line)


def without_headers(line: bytes) -> bytes:
    """A record with the values of all headers masked; a torn one as far as they begin."""
    end = line[len(line.rstrip(b"\r\n")) :]
    try:
        return encode(_masked(decode(line), 0)) + end
    except ValueError:
        return line[: line.index(HEADERS)] + end


def _masked(value: Any, depth: int) -> Any:
    if depth > _MOST_NESTED:
        return None
    if isinstance(value, list):
        return [_masked(item, depth + 1) for item in value]
    if not isinstance(value, dict):
        return value
    masked = {key: _masked(item, depth + 1) for key, item in value.items()}
    headers = masked.get("headers")
    if isinstance(headers, dict):
        masked["headers"] = dict.fromkeys(headers, MASK)
    return masked


def _rewrite(path: Path, masker: Masker, lines: Collection[int], *, durable: bool) -> dict[int, int]:
    """Replace the file by rename. Raises FileNotFoundError, PlaceError, RecordError."""
    offsets: dict[int, int] = {}
    unfinished = temporary(path)
    size = 0
    try:
        with BufferedReader(open_regular(path)) as source, open(create_file(unfinished), "wb") as target:  # noqa: PTH123 - a descriptor
            for number, line in enumerate(source, 1):
                if number in lines:
                    offsets[number] = size
                size += target.write(redacted_line(line, masker))
            if durable:
                target.flush()
                os.fsync(target.fileno())
        unfinished.replace(path)
        if durable:
            sync_folder(path.parent)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise place_error(error, path, "redact") from error
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
    return offsets


def _type_of(line: bytes) -> str:
    try:
        name = decode(line).get("type")
    except ValueError:
        return ""
    return name if isinstance(name, str) else ""
