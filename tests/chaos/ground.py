"""Where chaos happens: a home, an agent, the command line, and the runs that are worth killing."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from atomic.record import RunStore
from flows.server import stop_server
from tests.chaos.ledger import sold
from tests.e2e.real import CommandLine, set_up
from tests.e2e.releases import Release
from tests.loopback.provider import Provider

LIMITS = ("--idle", "4", "--timeout", "8")  # seconds: what hangs or writes for ever must end within a round


@dataclass(frozen=True, slots=True)
class Ground:
    """A home with an agent. ``scenes`` are the models of runs to kill, each within ``moments`` seconds; ``good``
    answers at once."""

    line: CommandLine
    store: RunStore
    scenes: tuple[tuple[str, ...], ...]
    good: str
    moments: float
    ledger: Path | None = None  # of a scripted agent
    through_prefect: bool = False

    def start(self, prompt: str, *models: str) -> subprocess.Popen[bytes]:
        """Start the run of a prompt; its key is the prompt itself."""
        named = [part for model in models for part in ("-m", model)]
        where = () if self.through_prefect else ("--direct",)
        options = (*where, "--json", "--agent", self.line.agent, "--key", prompt, *LIMITS)
        return self.line.start("run", *options, *named, prompt)

    def sold(self, prompt: str) -> int | None:
        """How often the agent itself says that it answered the prompt; None where it keeps no ledger."""
        return None if self.ledger is None else sold(self.ledger, prompt)


SCRIPTED = (
    ("scripted/ok",),
    ("scripted/slow-15",),
    ("scripted/tool", "scripted/ok"),
    ("scripted/sleep-tool", "other/ok"),
    ("scripted/leaves-child",),
    ("scripted/never-exits",),
    ("scripted/timeout", "other/ok"),
    ("scripted/stubborn", "other/ok"),
    ("scripted/tool-overflow", "other/tool"),
    ("scripted/rate-limit", "other/slow-5"),
    ("scripted/huge-8",),
    ("scripted/stalled-start", "other/ok"),
)
REAL = (
    ("fake/ok",),
    ("fake/slow",),
    ("fake/toolcall",),
    ("fake/sleeptool", "other/ok"),
    ("fake/hangmid", "other/ok"),
    ("fake/overflow", "other/ok"),
    ("fake/rl-twice",),
    ("fake/overflow-after-tool", "other/ok"),
)


@contextlib.contextmanager
def scripted(root: Path, *, through_prefect: bool = False) -> Iterator[Ground]:
    """The scripted agent in a home below `root`."""
    home, work, ledger = root / "home", root / "work folder", root / "ledger"
    for folder in (home, work):
        folder.mkdir(parents=True)
    command = (sys.executable, "-m", "tests.chaos.ledger", str(ledger))
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "HOME") if name in os.environ}
    environment = {
        **kept,
        "ATOMIC_FLOWS_HOME": str(home),
        "ATOMIC_FLOWS_SHARED": "true",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    line = CommandLine(Path(sys.executable).with_name("atomic-flows"), shlex.join(command), environment, work)
    store = RunStore(home / "records", home=home)
    try:
        yield Ground(line, store, SCRIPTED, "scripted/ok", 5.0 if through_prefect else 2.5, ledger, through_prefect)
    finally:
        stop_server(home)


@contextlib.contextmanager
def real_agent(root: Path, release: Release) -> Iterator[Ground]:
    """A real agent against the loopback provider, in a home below `root`."""
    with Provider() as provider:
        agent = set_up(release, provider, root)
        yield Ground(agent.command_line, agent.store, REAL, "fake/ok", 5.0)
