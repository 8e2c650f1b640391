"""A dashboard that is served, in a process of its own, on a home of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from atomic import RunResult, run
from atomic.settings import load_settings

PROGRAM = Path(sys.executable).with_name("atomic-flows")


@dataclass
class Home:
    """A home, and the runs in it by their names."""

    path: Path
    runs: dict[str, RunResult] = field(default_factory=dict)

    def environ(self, **more: str) -> dict[str, str]:
        """The environment of a command in this home."""
        kept = ("PATH", "HOME", "LANG", "VIRTUAL_ENV", "TMPDIR")
        around = {name: os.environ[name] for name in kept if name in os.environ}
        return {**around, "ATOMIC_FLOWS_HOME": str(self.path), **more}

    async def run(self, name: str, *models: str, prompt: str = "Say hello.", agent: str = "scripted") -> RunResult:
        """A real run, recorded in this home."""
        folder = self.path / "work" / name  # two sessions at once may not share one
        folder.mkdir(parents=True)
        settings = load_settings(self.path, environ=self.environ())
        result = await run(prompt, name=name, models=models, agent=agent, settings=settings, cwd=folder, check=False)
        self.runs[name] = result
        return result


@contextmanager
def served(home: Home, *options: str, **environ: str) -> Iterator[str]:
    """The address of a dashboard on this home; it ends with the block."""
    with subprocess.Popen(
        [PROGRAM, "dashboard", "--port", "0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        cwd=home.path,
        env=home.environ(**environ),
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            assert address, process.communicate()[1]
            yield address
        finally:
            process.terminate()
            _, complaints = process.communicate()
    assert complaints == ""
