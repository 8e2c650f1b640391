"""A shard as a deployment runs it, on a worker: ``batch_shard``. Batches start it; nobody else needs to."""

from __future__ import annotations

import asyncio
import contextlib
import os
from uuid import UUID

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext
from prefect.states import Cancelled, Completed, Failed

from atomic.errors import AtomicError, EditionLost
from atomic.processes import adopting_orphans
from atomic.settings import load_settings
from atomic.text import Masker, one_line
from flows.artifacts import Teller
from flows.attempts import masker_of
from flows.batch.facts import Ending
from flows.batch.flow import MESSAGE_LIMIT, Stopper
from flows.batch.leases import sharing
from flows.batch.pool import SHARD_FLOW
from flows.batch.shard_flow import in_this_flow
from flows.batch.shard_run import ShardRun, taken_up
from flows.cancel import signals_to, watched
from flows.dashboard.presence import dashboard_address
from flows.logs import hush
from flows.recovery import on_ended_from_outside, settle


@flow(
    name=SHARD_FLOW,
    persist_result=False,
    on_cancellation=[on_ended_from_outside],
    on_crashed=[on_ended_from_outside],
)
async def batch_shard(
    batch: str, edition: str, term: int, shard: int, cwd: str, config: str | None = None
) -> State[None]:
    """Carry out one shard of a batch, on a worker that has the same history as the process which owns the batch.

    Args:
        batch: The batch's name.
        edition: Its edition's name.
        term: How often the edition was begun: another process may own it by now.
        shard: The shard's number in that term.
        cwd: The folder in which the agent works, for items that name none; where the search for settings begins.
        config: A settings file, in the place of the project's.
    """
    context = FlowRunContext.get()
    assert context is not None and context.flow_run is not None, "this is a flow run"  # noqa: PT018
    flow_run_id = context.flow_run.id
    hush()
    try:
        settings = load_settings(cwd, config)
        with adopting_orphans():
            async with taken_up(settings, batch=batch, edition=edition, term=term, number=shard, cwd=cwd) as run:
                return await _carried_out(run, flow_run_id)
    except EditionLost as error:
        return Cancelled(message=one_line(error.message, MESSAGE_LIMIT))
    except AtomicError as error:
        return Failed(message=one_line(Masker.of(os.environ)(error.message), MESSAGE_LIMIT), data=error)


async def _carried_out(run: ShardRun, flow_run_id: UUID) -> State[None]:
    request = run.request
    stopper = Stopper(run.stop)
    async with Teller(masker_of(request.form), pages=dashboard_address(request.settings)) as teller:
        with signals_to(stopper, {}):
            async with watched(flow_run_id, stopper):
                settling = asyncio.get_running_loop().create_task(settle(request.store))
                try:
                    async with sharing(request.asked.limit_across, flow_run_id, run.said.append) as across:
                        engine = await run.to_its_end(in_this_flow(request.asked.track, teller), across)
                finally:
                    settling.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await settling
    said = one_line("; ".join([f"{engine.ran} ended", *run.said]), MESSAGE_LIMIT)
    if run.stop.ending in (None, Ending.BUDGET, Ending.HALTED, Ending.DRAINED):
        return Completed(message=one_line(f"{run.stop.reason or 'done'}: {said}", MESSAGE_LIMIT))
    return Cancelled(message=one_line(f"{run.stop.reason}: {said}", MESSAGE_LIMIT))
