"""Runs that are open in a home: listing them, and stopping them from another terminal."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from atomic.errors import RecordDamaged, RecordError, ServerError
from atomic.processes import ProcessId, is_alive, signal_process
from atomic.record import Owner, RunFolder, RunRecord, RunStore
from atomic.record.owner import OwnerState, state_of
from atomic.recovery import Recovered
from flows.server import ServerStatus, named_server
from flows.server import choose as choose_server
from flows.unsettled import notes_in, recover_and_note

STOP_PATIENCE = 60.0  # seconds for a run to stop its agent, to sweep and to write its record: several graces
POLL = 0.1


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A run without an end. ``record`` is None where it cannot be read; ``owner`` likewise."""

    folder: RunFolder
    owner: Owner | None
    state: OwnerState
    record: RunRecord | None

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.folder.run_id


def open_runs(store: RunStore) -> list[OpenRun]:
    """The open runs of this home, the oldest first. Touches nothing."""
    found = []
    for entry in store.live.entries():
        folder = RunFolder(Path(entry.folder), store) if entry.folder else store.open(entry.run_id)
        try:
            record = folder.read()
        except RecordDamaged:
            record = None
        owner = entry.owner or (record.owner if record else None)
        if record is None or not record.ended:
            found.append(OpenRun(folder, owner, state_of(owner) if owner else OwnerState.DEAD, record))
    return found


def bring_to_ends(store: RunStore, server: ServerStatus) -> Recovered:
    """Do the work of dead owners, and tell Prefect of their flow runs where it runs already: no server is started."""
    found = asyncio.run(recover_and_note(store))
    if notes_in(store.home) and (server.healthy or named_server(os.environ) is not None):
        with contextlib.suppress(ServerError):  # the notes stay, and the next command tells it
            choose_server(home=store.home)
            from flows.recovery import settle

            asyncio.run(settle(store))
    return found


def choose(store: RunStore, text: str) -> list[OpenRun]:
    """The open run that an id or its unique beginning names; none where that run has ended. Raises RunNotFound."""
    run_id = store.resolve(text)
    return [run for run in open_runs(store) if run.run_id == run_id]


async def stop_runs(store: RunStore, runs: list[OpenRun]) -> None:
    """Ask the owners of these runs to stop them, and wait until they have; where an owner is dead, do its work.
    Raises RecordError where a run does not end."""
    for run in runs:
        if run.state is OwnerState.ELSEWHERE:
            host = run.owner.host if run.owner else "another machine"
            raise RecordError(f"run {run.run_id} belongs to {host}", hint="stop it there", path=str(run.folder.path))
    owners = {run.run_id: _process(run.owner) for run in runs if run.owner and run.state is OwnerState.LIVING}
    for process in set(owners.values()):
        signal_process(process, signal.SIGTERM)
    until = time.monotonic() + STOP_PATIENCE
    for run_id, process in owners.items():
        await _ended(store, run_id, process, until)
    await recover_and_note(store)  # what an owner left that died, now or before


async def _ended(store: RunStore, run_id: str, owner: ProcessId, until: float) -> None:
    while is_alive(owner) and any(entry.run_id == run_id for entry in store.live.entries()):
        if time.monotonic() > until:
            raise RecordError(
                f"run {run_id} does not end, though process {owner.pid} was asked to",
                hint=f"kill -9 {owner.pid}; `atomic-flows stop {run_id}` then cleans up what it leaves",
                run_id=run_id,
            )
        await asyncio.sleep(POLL)


def _process(owner: Owner) -> ProcessId:
    return ProcessId(owner.pid, owner.process_started)
