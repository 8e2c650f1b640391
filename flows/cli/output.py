"""stdout is the answer or the data, stderr all else. What is not ours is cleaned before a terminal sees it."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from atomic.text import printable

BOLD, DIM, RED, GREEN, YELLOW, CYAN = "1", "2", "31", "32", "33", "36"


def prepare_streams() -> None:
    """UTF-8 on stdout and stderr whatever the locale says, and characters that UTF-8 has no form for (halves of
    pairs) as ``\\udXXX``, which is also how JSON writes them. A closed stream becomes one that swallows all."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - as long as the process
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def coloured(stream: IO[str]) -> bool:
    """Whether the stream is a terminal that wants colours (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, *codes: str, stream: IO[str] | None = None) -> str:
    """The text in a colour where the stream (default: stderr) wants colours."""
    return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if coloured(stream or sys.stderr) else text


def say(line: str = "") -> None:
    """One line for a person, on stderr. The caller cleans what is not ours. A closed stderr stops nothing."""
    try:
        print(line, file=sys.stderr, flush=True)  # noqa: T201 - this is where the command line prints
    except OSError:
        _silence(sys.stderr)


def write(data: str | bytes) -> bool:
    """Data on stdout: bytes as they are, text as UTF-8; cleaned when stdout is a terminal. False when the reader has
    gone: nothing more need be written, and nothing went wrong."""
    if sys.stdout.isatty():
        data = printable(data.decode("utf-8", "replace") if isinstance(data, bytes) else data)
    return _put(data)


def page(lines: Iterable[str]) -> bool:
    """Lines for a person on stdout; the caller cleans what is not ours."""
    return _put("".join(f"{line}\n" for line in lines))


def write_json(value: object) -> bool:
    """One JSON object on stdout, in UTF-8; all ASCII on a terminal, where a raw character could do something."""
    import json

    return _put(json.dumps(value, ensure_ascii=sys.stdout.isatty(), indent=2) + "\n")


def write_json_line(value: object) -> bool:
    """One JSON object on a line of its own, otherwise as write_json."""
    import json

    return _put(json.dumps(value, ensure_ascii=sys.stdout.isatty(), separators=(",", ":")) + "\n")


def _put(data: str | bytes) -> bool:
    try:
        if isinstance(data, bytes):
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
        else:
            sys.stdout.write(data)
        sys.stdout.flush()
    except BrokenPipeError:
        _silence(sys.stdout)
        return False
    except OSError as error:
        _silence(sys.stdout)
        raise OSError(error.errno, error.strerror, "stdout") from error
    return True


def flush() -> None:
    """Write what is left in both streams; one that takes nothing is silenced."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            _silence(stream)


def _silence(stream: IO[str]) -> None:
    """Point the stream's descriptor at nothing, so that the interpreter's last flush does not fail again."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
    except (OSError, ValueError):
        pass  # no descriptor behind it: there is nothing to flush either
