"""A scheduled flow run: it knows its time, keeps out of the way of the edition before, and carries its own out."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterId,
    FlowRunFilter,
    FlowRunFilterExpectedStartTime,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.client.schemas.sorting import FlowRunSort
from prefect.context import FlowRunContext
from prefect.states import Cancelled, Failed

from atomic.errors import AtomicError, BatchNotFound, EditionBusy
from atomic.processes import adopting_orphans
from atomic.record.files import encode, make_folder, write_file
from atomic.settings import Settings, load_settings
from atomic.text import Masker, one_line, slug
from flows.attempts import masker_of
from flows.batch import BatchResult, BatchRun, prepare_batch
from flows.batch.flow import MESSAGE_LIMIT, carry_out_in, final_state
from flows.batch.stopping import TERMINATED
from flows.database import Database, EditionState, control, editions
from flows.deadlines import deadline_at
from flows.schedule.facts import Overlap
from flows.schedule.turns import Begin, Due, Pass, whose_turn

STARTING = 60.0  # seconds that a process may take to start, at most: whoever serves judged before what is too late
LOOK_LIMIT = 10.0  # seconds for a look at the flow run's own state
LOOK = 2.0  # seconds between two looks at an edition that is waited for
GO_ON = 'a run of the deployment by hand ("Run" in Prefect) goes on with the {left} left'
GO_ON_BY_ITSELF = "whoever serves the schedule goes on with what is left, until the next is due"
FOLDER = "schedules"  # in the home: the inputs that scheduled prompts are made into, and their results


@dataclass(frozen=True, slots=True)
class How:
    """What a schedule says of its turns."""

    overlap: Overlap
    late: float
    deadline: str | None
    edition: str | None


async def take_turn(given: dict[str, Any], how: How, item: dict[str, str] | None = None) -> State[BatchResult]:
    """The whole flow run. ``item`` is that of a prompt, from which its input is made."""
    context = FlowRunContext.get()
    assert context is not None and context.flow_run is not None, "this is a flow run"  # noqa: PT018
    mask = Masker.of(os.environ)
    try:
        settings = load_settings(given.get("cwd"), given.get("config"))
        due = await _due(context.flow_run, how)
        database = await asyncio.to_thread(Database.open, settings.history.url, home=settings.home)
        try:
            turn = await _turn(database, given["name"], due, how, context.flow_run.id)
        finally:
            await asyncio.to_thread(database.close)
        if isinstance(turn, Pass):
            return Cancelled(name=turn.state, message=one_line(f"edition {turn.edition}: {turn.reason}", MESSAGE_LIMIT))
        if turn is None:
            return Cancelled(message="it was cancelled while it waited for the edition before")
        try:
            run = await _prepared(turn, due, given, how, item, settings)
            with adopting_orphans():  # the process is this flow run's alone
                await carry_out_in(run, context.flow_run)
        except AtomicError as error:
            await _note_unbegun(settings, given["name"], turn.edition, mask(error.message))
            raise
    except EditionBusy as error:  # somebody was quicker
        return Cancelled(name="Skipped", message=one_line(mask(error.message), MESSAGE_LIMIT))
    except AtomicError as error:
        return Failed(message=one_line(mask(error.message), MESSAGE_LIMIT), data=error)
    left = 0 if run.result is None else run.result.left
    by_itself = run.stop.reason == TERMINATED
    go_on = GO_ON_BY_ITSELF if by_itself and left else GO_ON.format(left=left) if left else None
    return final_state(run.result, masker_of(run.request.form), go_on=go_on)


async def _turn(database: Database, name: str, due: Due, how: How, flow_run_id: UUID) -> Begin | Pass | None:
    """Wait for the turn where it has to be waited for; what is passed over is noted. None where it was cancelled."""
    while True:
        there = await database.apart(known_editions, name)
        turn = whose_turn(due, how.overlap, how.late + STARTING, there, time.time())
        if isinstance(turn, Begin):
            return turn
        if isinstance(turn, Pass):
            await database.apart(editions.skip, name, turn.edition, reason=f"{turn.state.lower()}: {turn.reason}")
            return turn
        due = replace(due, waited=True)
        await asyncio.sleep(LOOK)
        if await _cancelled(flow_run_id):
            return None


async def _cancelled(flow_run_id: UUID) -> bool:
    """Whether somebody has cancelled a flow run that waits. Where the server does not answer, it goes on waiting."""
    with contextlib.suppress(Exception):
        async with asyncio.timeout(LOOK_LIMIT), get_client() as client:
            state = (await client.read_flow_run(flow_run_id)).state
            return state is not None and (state.is_cancelling() or state.is_cancelled())
    return False


async def _prepared(
    turn: Begin, due: Due, given: dict[str, Any], how: How, item: dict[str, str] | None, settings: Settings
) -> BatchRun:
    deadline = due.following if how.deadline is None else deadline_at(how.deadline, time.time())
    if item is not None:
        given = {**given, **await asyncio.to_thread(_input_of, item, settings.home)}
    return BatchRun(
        await asyncio.to_thread(
            lambda: prepare_batch(**given, edition=turn.edition, deadline=deadline, settings=settings)
        )
    )


async def _note_unbegun(settings: Settings, name: str, edition: str, said: str) -> None:
    """Note a night that could not begin as an edition: who looks at the history must see it. One that had begun is
    there, and says itself how it ended."""
    reason = one_line(f"it could not begin: {said}", MESSAGE_LIMIT)
    with contextlib.suppress(AtomicError):  # a history that cannot be written must not hide why
        database = await asyncio.to_thread(Database.open, settings.history.url, home=settings.home)
        try:
            await database.apart(editions.skip, name, edition, reason=reason)
        finally:
            await asyncio.to_thread(database.close)


def known_editions(database: Database, batch: str) -> list[EditionState]:
    """The newest editions of a batch; none where nobody knows it. Raises DatabaseError."""
    try:
        return control.editions_of(database, batch)
    except BatchNotFound:
        return []


def _input_of(item: dict[str, str], home: Path) -> dict[str, str]:
    """The input and output of a batch of one. Only who carries the edition out writes it."""
    folder = home / FOLDER / slug(item["custom_id"])
    make_folder(folder)
    write_file(folder / "prompt.jsonl", encode(item))
    return {"input": str(folder / "prompt.jsonl"), "output": str(folder / "results")}


async def _due(flow_run: FlowRun, how: How) -> Due:
    """When this flow run was due, and when the next of its deployment is: by the schedule that is in force, which may
    have been changed in Prefect."""
    at = flow_run.expected_start_time
    moment = time.time() if at is None else at.timestamp()
    following = None if flow_run.deployment_id is None else await _following(flow_run.deployment_id, flow_run)
    return Due(moment, following, by_hand=not flow_run.auto_scheduled, edition=how.edition)


async def _following(deployment_id: UUID, flow_run: FlowRun) -> float | None:
    at = flow_run.expected_start_time
    waiting = FlowRunFilterState(type=FlowRunFilterStateType(any_=[StateType.SCHEDULED]))
    async with get_client() as client:
        found = await client.read_flow_runs(
            flow_run_filter=FlowRunFilter(
                state=waiting, expected_start_time=FlowRunFilterExpectedStartTime(after_=at) if at else None
            ),
            deployment_filter=DeploymentFilter(id=DeploymentFilterId(any_=[deployment_id])),
            sort=FlowRunSort.EXPECTED_START_TIME_ASC,
            limit=3,
        )
    times = [one.expected_start_time.timestamp() for one in found if one.auto_scheduled and one.expected_start_time]
    return next((moment for moment in times if at is None or moment > at.timestamp()), None)
