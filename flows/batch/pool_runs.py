"""Shards as runs of a deployment: Prefect's side of a pool."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from typing import Any
from uuid import UUID

import httpx
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.filters import DeploymentFilter, FlowFilter, FlowFilterName, FlowRunFilter, FlowRunFilterId
from prefect.client.schemas.objects import FlowRun, State
from prefect.client.schemas.responses import DeploymentResponse
from prefect.deployments import run_deployment
from prefect.exceptions import ObjectNotFound, PrefectHTTPStatusError
from prefect.states import Cancelled

from atomic.errors import ServerError, UsageError
from atomic.settings.problems import nearest
from atomic.text import one_line
from flows.batch.pool import SHARD_FLOW, Pool, PoolAway, Seen, ShardsOn

ASK_LIMIT = 15.0  # seconds for one question
_PAGE = 200  # the most that Prefect gives at once
_AWAY = (httpx.HTTPError, PrefectHTTPStatusError, ObjectNotFound, TimeoutError, OSError, RuntimeError, ValueError)
_DEPLOY = "prefect --no-prompt deploy flows.batch.pool_shard.batch_shard --name {name} --pool POOL"


class DeployedShards:
    """Runs shards by a deployment that is there, within the flow run that this is made in."""

    def __init__(self, client: PrefectClient, deployment: DeploymentResponse) -> None:
        self._client = client
        self._deployment = deployment

    @property
    def work_pool(self) -> str:
        """The work pool's name."""
        return self._deployment.work_pool_name or "that serves it"

    async def start(self, name: str, parameters: Mapping[str, str | int | None]) -> str:
        """As :meth:`flows.batch.pool.Pool.start`."""
        with _asking():
            async with asyncio.timeout(ASK_LIMIT):
                started: Any = run_deployment(
                    self._deployment.id,
                    client=self._client,
                    parameters=dict(parameters),
                    flow_run_name=one_line(name, 120),
                    timeout=0,
                )
                run: FlowRun = await started
        return str(run.id)

    async def look(self, flow_run_ids: Collection[str]) -> Mapping[str, Seen]:
        """As :meth:`flows.batch.pool.Pool.look`."""
        ids = [UUID(one) for one in flow_run_ids]
        found = {}
        with _asking():
            for at in range(0, len(ids), _PAGE):
                only = FlowRunFilter(id=FlowRunFilterId(any_=ids[at : at + _PAGE]))
                async with asyncio.timeout(ASK_LIMIT):
                    runs = await self._client.read_flow_runs(flow_run_filter=only, limit=_PAGE)
                for run in runs:
                    state = run.state
                    if state is not None:
                        failed = state.is_final() and not state.is_completed()
                        waits = state.is_scheduled()
                        found[str(run.id)] = Seen(state.is_final(), waits, failed, one_line(state.message or "", 500))
        return found

    async def cancel(self, flow_run_ids: Collection[str]) -> None:
        """As :meth:`flows.batch.pool.Pool.cancel`."""
        state: State[None] = Cancelled(message="the batch has ended")
        with _asking():
            for one in flow_run_ids:
                async with asyncio.timeout(ASK_LIMIT):
                    await self._client.set_flow_run_state(UUID(one), state, force=True)


@contextlib.asynccontextmanager
async def deployed(asked: ShardsOn | None) -> AsyncIterator[Pool | None]:
    """Within this, what runs a batch's shards; None where they are its own. Raises UsageError where Prefect knows no
    such deployment, ServerError."""
    if asked is None:
        yield None
        return
    async with get_client() as client:
        try:
            deployment = await _found(client, asked)
        except (httpx.HTTPError, PrefectHTTPStatusError, OSError, RuntimeError) as error:
            said = one_line(str(error) or type(error).__name__, 300)
            raise ServerError(f"Prefect's server does not say whether {asked.deployment} is there: {said}") from error
        yield DeployedShards(client, deployment)


async def _found(client: PrefectClient, asked: ShardsOn) -> DeploymentResponse:
    try:
        return await client.read_deployment_by_name(asked.deployment)
    except ObjectNotFound:
        only = FlowFilter(name=FlowFilterName(any_=[SHARD_FLOW]))
        known = await client.read_deployments(flow_filter=only, deployment_filter=DeploymentFilter(), limit=_PAGE)
        near = nearest(asked.name, [one.name for one in known])
        raise UsageError(
            f"Prefect knows no deployment {asked.deployment}",
            hint=f"did you mean {near}?" if near else f"deploy it: {_DEPLOY.format(name=asked.name)}",
            key="shards_on",
            nearest=near,
        ) from None


@contextlib.contextmanager
def _asking() -> Iterator[None]:
    try:
        yield
    except _AWAY as error:
        raise PoolAway(one_line(str(error) or type(error).__name__, 300)) from error
