"""The verdict of a stream that has ended, in one call."""

from __future__ import annotations

import os
from pathlib import Path

from atomic.framing import Framer
from atomic.framing.reading import read_in_batches
from atomic.regular import open_regular
from atomic.verdict.facts import StopReason, Verdict
from atomic.verdict.fold import VerdictFold

STDERR_END = 32 * 1024  # bytes at each end of stderr that are looked at for a reason


def read_verdict(
    stream: Path | str, *, exit_code: int | None = None, stderr: str | Path = "", stopped: StopReason | None = None
) -> Verdict:
    """The verdict of the stream in this file, plain or compressed.

    `exit_code` is the process's: negative for one killed by that signal (128 + n is read likewise), None when nobody
    knows. `stderr` is its text, or the file that holds it; a file that is missing says nothing. `stopped` is the
    runner's own reason for ending the session. Raises PlaceError when there is no stream or it cannot be read,
    RecordDamaged when a compressed one cannot be read to its end.
    """
    framer = Framer()
    fold = VerdictFold()
    for records in read_in_batches(framer, stream):
        fold.feed(records)
    return fold.finish(framer.stats, exit_code=exit_code, stderr=_text(stderr), stopped=stopped)


def _text(stderr: str | Path) -> str:
    return stderr if isinstance(stderr, str) else ends_of(stderr)


def ends_of(stderr: Path) -> str:
    """The beginning and the end of what the agent wrote to stderr; nothing where there is no such file: it is a help,
    and may be of any length."""
    try:
        with open_regular(stderr) as file:
            size = os.fstat(file.fileno()).st_size
            head = file.read(STDERR_END)
            file.seek(max(size - STDERR_END, len(head)))
            tail = file.read(STDERR_END)
    except OSError:
        return ""
    gap = b"\n" if len(head) + len(tail) < size else b""
    return (head + gap + tail).decode("utf-8", "replace")
