"""The verdict of a stream that has ended, in one call."""

from __future__ import annotations

from pathlib import Path

from atomic.framing import Framer, open_stream
from atomic.verdict.facts import StopReason, Verdict
from atomic.verdict.fold import VerdictFold

_CHUNK = 128 * 1024


def read_verdict(
    stream: Path, *, exit_code: int | None = None, stderr: str | Path = "", stopped: StopReason | None = None
) -> Verdict:
    """The verdict of the stream in this file, plain or compressed.

    `exit_code` is the process's: negative for one killed by that signal (128 + n is read likewise), None when nobody
    knows. `stderr` is its text, or the file that holds it; a file that is missing says nothing. `stopped` is the
    runner's own reason for ending the session. Raises OSError when the stream cannot be read.
    """
    framer = Framer()
    fold = VerdictFold()
    with open_stream(stream) as source:
        while chunk := source.read(_CHUNK):
            fold.feed(framer.feed(chunk))
    fold.feed(framer.close())
    return fold.finish(framer.stats, exit_code=exit_code, stderr=_text(stderr), stopped=stopped)


def _text(stderr: str | Path) -> str:
    if isinstance(stderr, str):
        return stderr
    try:
        return stderr.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
