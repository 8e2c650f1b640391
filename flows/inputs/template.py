"""Prompts out of a Jinja2 template and rows, rendered in a sandbox that is a process of its own.

Jinja's sandbox keeps a template from reaching Python; it does not keep it from looping, or from multiplying a text
until the memory is full. A process can be bounded in both.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Self

from atomic.errors import PlaceError
from flows.inputs import sandbox
from flows.inputs.facts import Problem, Row
from flows.inputs.fields import Rendered

BATCH_ROWS = 64  # rows that go over at once: each way costs a change of process
BATCH_BYTES = 256 * 1024  # or so much of them, since a row may be megabytes
_SILENT = Rendered()


class Renderer:
    """A template and the process that renders it. ``problem`` says why it is no template, where it is none; after
    that, and after a row that it could not survive, it renders nothing more."""

    def __init__(self, path: Path) -> None:
        """Raises PlaceError where the template cannot be read."""
        self._path = path
        self.problem: Problem | None = None
        self._over = False
        try:
            text = path.read_bytes().decode("utf-8-sig")
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            said = f"cannot read the template {path}: {reason}"
            raise PlaceError(said, path=str(path), reason=reason) from error
        except UnicodeDecodeError as error:
            text = ""
            self._refuse(None, f"it is no UTF-8 text: byte {error.start} is {error.object[error.start]:#04x}")
        self._process = subprocess.Popen(
            # -P: no module is taken from the folder that one happens to stand in.
            [sys.executable, "-P", sandbox.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for us
        )
        answer = self._ask(json.dumps(text).encode() + b"\n")
        if "message" in answer:
            self._refuse(answer.get("line"), answer["message"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        with suppress(BrokenPipeError), self._process:  # closes the pipes, whatever is still in them, and waits
            pass

    def render_all(self, rows: Iterable[Row | Problem]) -> Iterator[tuple[Row | Problem, Rendered]]:
        """Every row with its prompt, in order, and with it each problem that stood between rows."""
        waiting: list[tuple[Row | Problem, bytes | None]] = []
        size = 0
        for row in rows:
            line = _encoded(row) if isinstance(row, Row) else None
            waiting.append((row, line))
            size += len(line or b"")
            if len(waiting) >= BATCH_ROWS or size >= BATCH_BYTES:
                yield from self._batch(waiting)
                waiting, size = [], 0
        yield from self._batch(waiting)

    def _batch(self, waiting: list[tuple[Row | Problem, bytes | None]]) -> Iterator[tuple[Row | Problem, Rendered]]:
        lines = [line for _, line in waiting if line is not None]
        if lines and not self._over:
            self._send(b"%d\n%s" % (len(lines), b"".join(lines)))
        for row, line in waiting:
            if isinstance(row, Problem) or self._over:
                yield row, _SILENT
            elif line is None:
                yield row, Rendered(message="the row is nested too deeply for a template")
            else:
                yield row, self._rendered(self._receive())

    def _rendered(self, answer: dict[str, Any]) -> Rendered:
        message = answer.get("message")
        if message is not None:
            line = answer.get("line")
            place = f"{self._path}:{line}" if line else str(self._path)
            message = f"the template {place}: {message}"
        return Rendered(answer.get("prompt"), message, answer.get("name"))

    def _refuse(self, line: int | None, message: str) -> None:
        self._over = True
        self.problem = Problem(str(self._path), line, None, message)

    def _ask(self, data: bytes) -> dict[str, Any]:
        self._send(data)
        return self._receive()

    def _send(self, data: bytes) -> None:
        pipe = _there(self._process.stdin)
        try:
            pipe.write(data)
            pipe.flush()
        except BrokenPipeError:
            pass  # it has ended; reading its answer says so

    def _receive(self) -> dict[str, Any]:
        line = _there(self._process.stdout).readline()
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        self._over = True
        code = self._process.wait()
        if code == -signal.SIGXCPU:
            return {"message": f"it takes more than {sandbox.SECONDS} seconds of processor time, and was ended"}
        return {"message": f"the process that rendered it ended with {code}"}


def _encoded(row: Row) -> bytes | None:
    """The row as a line for the sandbox; None for one that JSON cannot hold."""
    try:
        return json.dumps(dict(row.fields)).encode() + b"\n"
    except RecursionError:
        return None


def _there(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None, "both are pipes"
    return pipe
