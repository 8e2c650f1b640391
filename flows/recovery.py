"""Prefect's side of recovery: flow and task runs that a kill, or a server that was away, left without their ends.

The record is the truth. What it says is brought to the server, which is asked a few times and never waited for long; a
note in the home stays until it has been told.
"""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any
from uuid import UUID

from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId
from prefect.client.schemas.objects import FlowRun, State, TaskRun
from prefect.exceptions import ObjectNotFound
from prefect.states import Cancelled, Completed, Crashed, Failed
from pydantic import ValidationError

from atomic.errors import RecordDamaged, RecordError, RunNotFound
from atomic.failures import FailureKind
from atomic.record import AttemptSummary, RunRecord, RunStore
from atomic.record.files import read_object
from atomic.record.owner import OwnerState, state_of
from atomic.recovery import Adopt, Recovered
from atomic.runner import open_store
from atomic.settings import load_settings
from atomic.text import Masker, one_line
from flows.begun import NOTE, crash, end_begun
from flows.unsettled import Begun, Unsettled, notes_in, recover_and_note

SETTLE_LIMIT = 15.0  # seconds for all notes together: a start-up must not hang on a server that does not answer
# The server writes task runs a few seconds after it has heard of them. One that was lost with its process never comes.
RECORDER_LIMIT = 5.0
RECORDER_POLL = 0.5
LOST_AFTER = 60.0
FORGET_AFTER = 86_400.0  # seconds; a flow run unknown to the server for longer was a private server's


async def recover_flows(store: RunStore, *, adopt: Adopt = "stop") -> Recovered:
    """Recover the runs that dead owners left, and bring their ends to Prefect's server. Where that does not answer in
    time, the next start tries again."""
    found = await recover_and_note(store, adopt=adopt)
    await settle(store)
    return found


async def settle(store: RunStore) -> int:
    """Bring to the server what the notes say. Returns how many are left: all, where the server is away."""
    notes = notes_in(store.home)
    if not notes:
        return 0
    try:
        async with asyncio.timeout(SETTLE_LIMIT), get_client() as client:
            for path in notes:
                if not path.name.startswith(NOTE):
                    await _settle_note(path, store, client)
            for path in notes:
                if path.name.startswith(NOTE):
                    await _end_begun(path, store, client)
    except Exception:  # noqa: BLE001 - whatever keeps the server from answering: the notes stay
        pass
    return len(notes_in(store.home))


async def _end_begun(path: Path, store: RunStore, client: PrefectClient) -> None:
    try:
        note = Begun.model_validate(read_object(path))
    except (FileNotFoundError, RecordDamaged, ValidationError):
        idle = True
    else:
        known = frozenset(one.stem for one in notes_in(store.home))
        idle = await end_begun(note, client, known=known, forget_after=FORGET_AFTER)
    if idle:
        await asyncio.to_thread(path.unlink, missing_ok=True)


async def _settle_note(path: Path, store: RunStore, client: PrefectClient) -> None:
    try:
        note = Unsettled.model_validate(read_object(path))
        run = await asyncio.to_thread(store.read, note.run_id)
    except (FileNotFoundError, RecordDamaged, RunNotFound, ValidationError):
        told = True  # nothing is left that it could be about
    except RecordError:
        told = False
    else:
        told = not _owners_to_tell(note, run) and await _settled(note, run, client)
    if told:
        await asyncio.to_thread(path.unlink, missing_ok=True)


def _owners_to_tell(note: Unsettled, run: RunRecord) -> bool:
    """Whether the run has no end yet, or the process that carries it out is about to tell the server of it."""
    if run.ended_at is None:
        return True
    alive = run.owner is not None and state_of(run.owner) is not OwnerState.DEAD
    return note.owner_tells and alive and time.time() - run.ended_at < LOST_AFTER


async def _settled(note: Unsettled, run: RunRecord, client: PrefectClient) -> bool:
    """Whether nothing is left to be told about a note's flow run."""
    while True:
        age = time.time() - max(note.noted_at, run.ended_at or 0.0)
        try:
            missing = await settle_run(run, UUID(note.flow_run_id), client)
        except ObjectNotFound:
            return age > FORGET_AFTER  # before, it may be another server's, which is asked another time
        if not missing or age > LOST_AFTER:
            return True
        if age > RECORDER_LIMIT:
            return False
        await asyncio.sleep(RECORDER_POLL)


async def settle_run(run: RunRecord, flow_run_id: UUID, client: PrefectClient) -> int:
    """End a flow run and its task runs as the record says, unless they have ended. Returns how many attempts have no
    task run there yet. Raises ObjectNotFound for a flow run that the server does not know."""
    flow_run: FlowRun = await client.read_flow_run(flow_run_id)
    if run.batch is not None:
        await _settle_shard(flow_run, client)
        return 0
    tasks = await client.read_task_runs(
        flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=[flow_run_id])), limit=200
    )
    by_number = {one.n: one for one in run.attempts}
    for task in tasks:
        if task.state is None or not task.state.is_final():
            state = _state_of(by_number.get(_number(task)) or run)
            await client.set_task_run_state(task.id, state, force=True)
    if flow_run.state is None or not flow_run.state.is_final():
        await client.set_flow_run_state(flow_run_id, _state_of(run), force=True)
    return len(by_number.keys() - {_number(task) for task in tasks})


async def _settle_shard(flow_run: FlowRun, client: PrefectClient) -> None:
    """End a batch's flow run that a kill left, with its task runs, and the one that it is part of: they were of one
    process. The items go on in another."""
    await crash(flow_run, client, "the process that carried it out was killed")
    if flow_run.parent_task_run_id is not None and flow_run.deployment_id is None:  # else it had a process of its own
        whole = (await client.read_task_run(flow_run.parent_task_run_id)).flow_run_id
        if whole is not None:
            await _settle_shard(await client.read_flow_run(whole), client)


def _state_of(ended: RunRecord | AttemptSummary) -> State[Any]:
    message = one_line(Masker.of(os.environ)(ended.message), 1000)
    if ended.status == "answered":
        return Completed(message=f"answered by {one_line(ended.answered_by or 'the agent')}")
    if ended.kind is FailureKind.CANCELLED:
        return Cancelled(message=message)
    if ended.kind is FailureKind.INTERRUPTED or ended.status in (None, "running"):
        return Crashed(message=message or "the process that carried it out was killed")
    return Failed(message=message)


def _number(task: TaskRun) -> int:
    """The number of the attempt that a task run stands for, from its name; 0 for another task."""
    word, _, rest = task.name.partition(" ")
    number = rest.partition(" ")[0]
    return int(number) if word == "attempt" and number.isdecimal() else 0


async def on_ended_from_outside(flow: Any, flow_run: FlowRun, state: State[Any]) -> None:  # noqa: ARG001 - Prefect's names
    """Hook for a flow run that was cancelled or crashed: nothing of its agents stays. Prefect runs it in the process of
    the flow, or, when that was killed, in the one that served it."""
    await recover_flows(open_store(load_settings()))
