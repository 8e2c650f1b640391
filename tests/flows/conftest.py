"""The command line as people meet it: a process of its own, in a home and a project of its own."""

from __future__ import annotations

import contextlib
import os
import pty
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.flows.databases import database, where  # noqa: F401 - fixtures
from tests.flows.prefect_server import place, server  # noqa: F401 - fixtures
from tests.postgres import postgres  # noqa: F401 - a fixture

PROGRAM = Path(sys.executable).with_name("atomic-flows")


@dataclass
class Done:
    """A command that has ended."""

    code: int
    out: str
    err: str
    raw: bytes = b""


@dataclass
class CommandLine:
    """Commands with one home, started in one project."""

    home: Path
    project: Path
    environ: dict[str, str]
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __call__(self, *args: str, stdin: bytes = b"", **environ: str) -> Done:
        """Run a command to its end."""
        done = subprocess.run(
            [PROGRAM, *args], input=stdin, capture_output=True, cwd=self.project, env={**self.environ, **environ}
        )
        return _done(done.returncode, done.stdout, done.stderr)

    def scripted(self, *args: str, stdin: bytes = b"", **environ: str) -> Done:
        """`run` on the scripted agent, without Prefect."""
        return self("run", "--direct", "--agent", "scripted", *args, stdin=stdin, **environ)

    def at_terminal(self, *args: str, **environ: str) -> str:
        """What a command writes to a terminal, on stdout and stderr, as it would be sent there."""
        parent, child = pty.openpty()
        with subprocess.Popen(
            [PROGRAM, *args],
            stdin=child,
            stdout=child,
            stderr=child,
            cwd=self.project,
            env={**self.environ, "TERM": "xterm", "COLUMNS": "100", **environ},
        ):
            os.close(child)
            written = b""
            with contextlib.suppress(OSError):  # how a terminal says that nobody is there any more
                while piece := os.read(parent, 65536):
                    written += piece
        os.close(parent)
        return written.decode()

    def start(self, *args: str, **environ: str) -> subprocess.Popen[bytes]:
        """Start a command and leave it running."""
        process = subprocess.Popen(
            [PROGRAM, *args],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.project,
            env={**self.environ, **environ},
        )
        self.started.append(process)
        return process

    def end(self, process: subprocess.Popen[bytes]) -> Done:
        """Wait for a started command."""
        out, err = process.communicate()
        return _done(process.returncode, out, err)

    def records(self) -> list[Path]:
        """The folders of all runs."""
        return sorted(path.parent for path in self.home.glob("records/*/*/*/*/run.json"))

    def until_at_work(self, process: subprocess.Popen[bytes]) -> Path:
        """Wait until the agent of a started run has begun to write; the run's folder."""
        while process.poll() is None:
            for stream in self.home.glob("records/*/*/*/*/attempt-*/stream.jsonl"):
                if stream.stat().st_size:
                    return stream.parent.parent
            time.sleep(0.02)
        raise AssertionError(self.end(process).err)


def _done(code: int, out: bytes, err: bytes) -> Done:
    return Done(code, out.decode(), err.decode(), out)


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[CommandLine]:
    home, project = tmp_path / "home", tmp_path / "a project"
    home.mkdir()
    project.mkdir()
    kept = ("PATH", "HOME", "LANG", "VIRTUAL_ENV", "TMPDIR")
    environ = {name: os.environ[name] for name in kept if name in os.environ}
    line = CommandLine(home, project, {**environ, "ATOMIC_FLOWS_HOME": str(home), "ATOMIC_FLOWS_SHARED": "true"})
    yield line
    killed = [process for process in line.started if process.poll() is None]
    for process in killed:
        process.kill()
        process.communicate()
    if killed:
        assert line("stop", "--all").code == 0  # what their agents had begun
