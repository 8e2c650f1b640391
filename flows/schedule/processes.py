"""Flow runs that are due, each in a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
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
    process: asyncio.subprocess.Process

    def terminate(self) -> None:
        """Ask it to end: its agents end with it, and what was answered is kept."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGTERM)


async def start(flow_run_id: UUID, name: str, folder: Path) -> FlowProcess:
    """Start a flow run as Prefect's own runner does. It has its own session, so that Ctrl-C here does not reach it
    twice, and goes on when this process is killed. It works in ``folder``, which is ours: Prefect reads settings from
    files of the working folder, and Python modules. Raises OSError."""
    log = folder / LOGS / f"{slug(name)}.log"
    make_folder(log.parent)
    if log.exists() and log.stat().st_size > LOG_LIMIT:
        log.unlink()
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "prefect.engine"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=asyncio.subprocess.STDOUT,
            cwd=folder,
            env={**os.environ, "PREFECT__FLOW_RUN_ID": str(flow_run_id)},
            start_new_session=True,
        )
    return FlowProcess(flow_run_id, name, process)


async def stop_all(processes: list[FlowProcess]) -> list[FlowProcess]:
    """End them all, and wait until they have. Returns those that had to be killed, which may have left something."""
    for one in processes:
        one.terminate()
    waiting = [asyncio.create_task(one.process.wait()) for one in processes]
    if waiting:
        await asyncio.wait(waiting, timeout=STOP_PATIENCE)
    stubborn = [one for one in processes if one.process.returncode is None]
    for one in stubborn:
        with contextlib.suppress(ProcessLookupError):
            one.process.kill()
        await one.process.wait()
    return stubborn
