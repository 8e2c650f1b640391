"""A shard as a flow run within the batch's: its sessions are tasks, or the whole of it is one."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext
from prefect.states import Completed

from atomic.record import AttemptRecord
from atomic.session import AttemptSpec, run_attempt
from atomic.text import one_line
from flows.artifacts import Teller
from flows.attempts import OnProgress, TaskAttempts, masker_of
from flows.batch.carry_out import BatchRun
from flows.batch.engine import OpenShard, Shard
from flows.batch.pool import SHARD_FLOW
from flows.batch.tracking import Track, tracked
from flows.begun import unmarked
from flows.cancel import handlers_in_force
from flows.dashboard.presence import dashboard_address


@dataclass(frozen=True, slots=True)
class _Opened:
    """What a shard's flow run is to do: parameters are plain data."""

    shard: Shard
    run: BatchRun
    obey: Callable[[], None]  # puts the batch's own handlers of signals back in force


_opened: ContextVar[_Opened] = ContextVar("_opened")
_at_work: ContextVar[Shard] = ContextVar("_at_work")  # for the task that it is


def in_shard_flows(run: BatchRun) -> OpenShard:
    """Opens each shard as a flow run within the one that this is called in."""

    async def open_shard(shard: Shard) -> None:
        _opened.set(_Opened(shard, run, handlers_in_force()))
        edition = shard.engine.edition
        named: Any = _shard_flow.with_options(flow_run_name=_literal(f"{edition.batch} · shard {shard.number}"))
        await named(edition.batch, edition.name, shard.number, return_state=True)

    return open_shard


@flow(name=SHARD_FLOW, persist_result=False)
async def _shard_flow(batch: str, edition: str, number: int) -> State[None]:  # noqa: ARG001 - shown by Prefect
    opened = _opened.get()
    opened.obey()
    request = opened.run.request
    async with Teller(masker_of(request.form), pages=dashboard_address(request.settings)) as teller:
        await in_this_flow(request.asked.track, teller)(opened.shard)
    return Completed(message=_came_to(opened.shard))


def in_this_flow(track: Track, teller: Teller) -> OpenShard:
    """Carries a shard out in the flow run that this is called in."""
    context = FlowRunContext.get()
    assert context is not None and context.flow_run is not None, "this is a flow run"  # noqa: PT018
    flow_run_id = str(context.flow_run.id)

    async def open_shard(shard: Shard) -> None:
        with unmarked():
            if track == "shard":
                _at_work.set(shard)
                number = shard.engine.edition.shard or shard.number
                named: Any = _shard_task.with_options(task_run_name=_literal(f"shard {number}"))
                await named(number, return_state=True)
            else:
                await shard.work(partial(SomeTracked, shard, track, teller), flow_run_id=flow_run_id)

    return open_shard


@task(name="shard", retries=0, cache_policy=NO_CACHE, persist_result=False)
async def _shard_task(number: int) -> State[None]:  # noqa: ARG001 - shown by Prefect
    shard = _at_work.get()
    context = FlowRunContext.get()
    await shard.work(flow_run_id=str(context.flow_run.id) if context and context.flow_run else None)
    return Completed(message=_came_to(shard))


class SomeTracked:
    """Carries an item's attempts out as tasks, for as long as the server can take them."""

    def __init__(self, shard: Shard, track: Track, teller: Teller, item: str) -> None:
        self._sessions = shard.engine.sessions
        self._track = track
        self._tasks = TaskAttempts(teller, item=item)

    async def __call__(self, spec: AttemptSpec, *, on_progress: OnProgress | None = None) -> AttemptRecord:
        """One attempt; as :func:`atomic.session.run_attempt`, which it raises like."""
        if tracked(self._track, self._sessions.rate(time.monotonic())):
            return await self._tasks(spec, on_progress=on_progress)
        return await run_attempt(spec, on_progress=on_progress)


def _came_to(shard: Shard) -> str:
    return f"{shard.answered} answered, {shard.failed} failed"


def _literal(name: str) -> Callable[[], str]:
    """A run's name as a function: in a text Prefect would fill in what stands in braces."""
    shown = one_line(name, 120)
    return lambda: shown
