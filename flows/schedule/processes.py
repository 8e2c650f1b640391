"""Flow runs that are due, each in a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from atomic.record.files import make_folder
from atomic.text import slug

LOGS = "logs"
LOG_LIMIT = 5_000_000  # bytes after which a schedule's log begins anew
STOP_PATIENCE = 90.0  # seconds for a batch to stop its agents, to sweep and to write: several graces, many at once


@dataclass(frozen=True, slots=True)
class FlowProcess:
    """A flow run at work. ``name`` is its schedule's."""

    flow_run_id: UUID
    name: str
    process: subprocess.Popen[bytes]

    @property
    def code(self) -> int | None:
        """What it ended with; None while it lives."""
        return self.process.poll()

    def terminate(self) -> None:
        """Ask it to end: its agents end with it, and what was answered is kept."""
        self.process.send_signal(signal.SIGTERM)  # of one that has ended this does nothing

    def interrupt(self) -> None:
        """The same for one that is not to be gone on with: what was terminated is, see
        :data:`flows.schedule.turns.CUT_OFF`."""
        self.process.send_signal(signal.SIGINT)


def start(flow_run_id: UUID, name: str, folder: Path) -> FlowProcess:
    """Start a flow run as Prefect's own runner does. It has its own session, so that Ctrl-C here does not reach it
    twice, and goes on when this process is killed. It works in ``folder``, which is ours: Prefect reads settings from
    files of the working folder, and Python modules. Raises OSError."""
    log = folder / LOGS / f"{slug(name)}.log"
    make_folder(log.parent)
    if log.exists() and log.stat().st_size > LOG_LIMIT:
        log.unlink()
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "prefect.engine"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={**os.environ, "PREFECT__FLOW_RUN_ID": str(flow_run_id)},
            start_new_session=True,
        )
    return FlowProcess(flow_run_id, name, process)


async def stop_all(processes: Sequence[FlowProcess]) -> list[FlowProcess]:
    """End them all, and wait until they have. Returns those that had to be killed, which may have left something."""
    for one in processes:
        one.terminate()
    await asyncio.to_thread(_wait, processes, time.monotonic() + STOP_PATIENCE)
    stubborn = [one for one in processes if one.code is None]
    for one in stubborn:
        with contextlib.suppress(ProcessLookupError):
            one.process.kill()
        one.process.wait()
    return stubborn


def _wait(processes: Sequence[FlowProcess], until: float) -> None:
    for one in processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            one.process.wait(max(until - time.monotonic(), 0))
