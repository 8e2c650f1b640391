"""The console's entry: every error becomes a message and an exit code, none a traceback."""

from __future__ import annotations

import errno
import os
import sys
import time
from pathlib import Path

from atomic.errors import EXIT_ANSWERED, EXIT_FAILED, EXIT_INTERRUPTED, AtomicError
from atomic.text import Masker, one_line, printable
from flows.cli.leaving import leave
from flows.cli.output import DIM, RED, paint, prepare_streams, say

# What a full or read-only disk or a missing right says: the machine's state, not a fault of the program.
MACHINE_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EMFILE})


def main() -> None:
    """Run the command line on ``sys.argv`` and exit with its code."""
    prepare_streams()
    try:
        from flows.cli.app import app  # here, so that what fails while it is imported is told like the rest

        app(sys.argv[1:], prog_name="atomic-flows")
        code = 0
    except AtomicError as error:
        show_error(error)
        code = error.exit_code
    except SystemExit as error:  # how a command says its exit code
        code = _code_of(error)
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last line of defence: no traceback reaches a person
        code = _unexpected(error)
    leave(code)


def _code_of(error: SystemExit) -> int:
    """The exit code. That the reader of a help has gone is no failure, whatever click makes of it."""
    before = error.__context__
    if isinstance(before, OSError) and before.errno == errno.EPIPE:
        return EXIT_ANSWERED
    return error.code if isinstance(error.code, int) else EXIT_ANSWERED if error.code is None else EXIT_FAILED


def show_error(error: AtomicError) -> None:
    """The error and what to do about it, on stderr."""
    masker = Masker.of(os.environ)
    say(f"{paint('error:', RED)} {masker(printable(error.message))}")
    if error.hint:
        say(f"{paint('hint:', DIM)}  {masker(printable(error.hint))}")


def _unexpected(error: Exception) -> int:
    code = getattr(error.__context__, "exit_code", None)
    if isinstance(error, OSError) and isinstance(code, int):
        return code  # click could not print what was wrong with the call
    if isinstance(error, OSError) and error.errno in MACHINE_ERRORS:
        where = f"{error.filename}: " if error.filename else ""
        say(f"{paint('error:', RED)} {printable(where)}{(error.strerror or str(error)).lower()}")
        return EXIT_FAILED
    log = write_crash(error)
    said = one_line(Masker.of(os.environ)(f"{type(error).__name__}: {error}"), 300)
    say(f"{paint('error:', RED)} unexpected {said}")
    if log is not None:
        say(f"{paint('hint:', DIM)}  this is a fault of atomic-flows; please report it, with {printable(str(log))}")
    return EXIT_FAILED


def write_crash(error: Exception) -> Path | None:
    """Keep the traceback, secrets masked, in ``crash/`` of the home; its path, or None where nothing can be written."""
    import tempfile
    import traceback

    text = Masker.of(os.environ)("".join(traceback.format_exception(error)))
    name = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.getpid()}.log"
    places = [Path(tempfile.gettempdir())]
    try:
        from atomic.settings import find_home

        places.insert(0, find_home() / "crash")
    except Exception:  # noqa: BLE001 - what went wrong may be the settings, or the import of half the package
        pass
    for place in places:
        try:
            place.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(place / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError:
            continue
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as out:
            out.write(text)
        return place / name
    return None
