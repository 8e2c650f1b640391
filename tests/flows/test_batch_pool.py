"""A batch whose shards are carried out by a worker of a work pool: killed, orphaned, stopped, and never there."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.objects import FlowRun

from atomic.errors import UsageError
from atomic.record import RunRecord
from flows import batch_shard
from flows.batch import BatchResult, Ending, run_batch
from flows.database import Database, control
from flows.history import RunFilter, runs_page
from flows.server import ServerInfo
from tests.flows.prefect_server import Place, until

NAME = "shard"
ENTRYPOINT = "flows.batch.pool_shard.batch_shard"  # as deployments/prefect.yaml has it


@pytest.fixture(scope="module")
def pooled(tmp_path_factory: pytest.TempPathFactory, server: ServerInfo) -> Iterator[Place]:
    """A home, and a worker with two places for shards, which all tests of this file share: it takes some seconds to
    start."""
    place = Place(tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("project"), server)
    asyncio.run(deploy())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATOMIC_FLOWS_HOME", str(place.home))
        patch.setenv("ATOMIC_FLOWS_SHARED", "true")
        patch.chdir(place.project)
        command = [sys.executable, "-m", "prefect", "worker", "start", "--pool", "agents", "--limit", "2"]
        log = (place.home / "worker.log").open("wb")
        environment = {**place.environment(), "PREFECT_WORKER_QUERY_SECONDS": "0.5", "PREFECT_HOME": str(place.home)}
        worker = subprocess.Popen(command, cwd=place.project, env=environment, stdout=log, stderr=log)
        try:
            yield place
        finally:
            worker.terminate()  # SIGINT may be ignored where this was started
            worker.wait(60)
            log.close()
    for process in place.started:
        if process.poll() is None:
            process.kill()
        process.communicate()


async def deploy() -> None:
    async with get_client() as client:
        await client.create_work_pool(WorkPoolCreate(name="agents", type="process"), overwrite=True)
        flow_id = await client.create_flow(batch_shard)
        await client.create_deployment(
            flow_id, NAME, work_pool_name="agents", entrypoint=ENTRYPOINT, path=".", enforce_parameter_schema=False
        )


def write(place: Place, name: str, models: list[str]) -> Path:
    lines = [{"custom_id": f"{name}-{n}", "prompt": f"{name} {n}", "models": [one]} for n, one in enumerate(models)]
    path = place.project / f"{name}.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def lines_of(place: Place, name: str) -> dict[str, dict[str, Any]]:
    text = (place.project / f"{name}-results" / "results.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert all(n == 1 for n in Counter(line["custom_id"] for line in lines).values())
    return {line["custom_id"]: line for line in lines}


def runs_of(place: Place, name: str) -> dict[str, list[RunRecord]]:
    found: dict[str, list[RunRecord]] = {}
    for run in place.runs():
        if run.batch == name:
            found.setdefault(str(run.custom_id), []).append(run)
    return found


async def shard_runs(name: str) -> list[FlowRun]:
    """The flow runs of a batch's shards."""
    async with get_client() as client:
        found = await client.read_flow_runs()
    return [run for run in found if run.deployment_id is not None and run.parameters.get("batch") == name]


async def carried_out(place: Place, name: str, **given: Any) -> BatchResult:
    path = place.project / f"{name}.jsonl"
    result: BatchResult = await run_batch(path, agent="scripted", shards_on=f"{NAME}=2", **given)
    return result


async def test_a_killed_shard_is_taken_up_by_another_and_no_answer_is_bought_twice(pooled: Place) -> None:
    write(pooled, "killed", ["x/slow-10"] * 12)
    going = asyncio.ensure_future(carried_out(pooled, "killed", concurrency=2))

    def at_work() -> list[RunRecord] | None:
        runs = [run for of_item in runs_of(pooled, "killed").values() for run in of_item]
        both = {run.owner.pid for run in runs if run.owner is not None and not run.ended}
        return runs if len(both) == 2 and any(run.ended for run in runs) else None

    before = await asyncio.to_thread(until, at_work)
    victim = next(run.owner.pid for run in before if run.owner is not None and not run.ended)
    os.kill(victim, signal.SIGKILL)
    result = await going
    assert (result.ending, result.answered, result.ran) == (Ending.FINISHED, 12, 12)
    assert len(lines_of(pooled, "killed")) == 12
    runs = runs_of(pooled, "killed")
    assert all(sum(run.status == "answered" for run in of_item) == 1 for of_item in runs.values())
    again = [of_item for of_item in runs.values() if len(of_item) > 1]
    assert all(victim in {run.owner.pid for run in of_item if run.owner} for of_item in again)
    assert all(len(runs[str(run.custom_id)]) == 1 for run in before if run.ended)
    states = Counter(run.state_name for run in await shard_runs("killed"))
    assert states == {"Completed": 2, "Crashed": 1}
    database = Database.open(home=pooled.home)
    told = runs_page(database, RunFilter(batch="killed"), limit=100).rows
    database.close()
    assert {one.run_id: one.status for one in told} == {
        run.run_id: run.status for of_item in runs.values() for run in of_item
    }
    assert not pooled.markers()


PROGRAM = """
import asyncio, sys
from flows.batch import run_batch
asyncio.run(run_batch(sys.argv[1], agent="scripted", shards_on="shard=2", concurrency=2))
"""


async def test_a_killed_batch_goes_on_when_it_is_started_again_and_its_shards_end(pooled: Place) -> None:
    path = write(pooled, "orphaned", ["x/sleep-tool"] * 2)
    process = pooled.start(PROGRAM, str(path))
    await asyncio.to_thread(until, lambda: len(at_work(pooled, "orphaned")) == 2 or None)
    process.kill()
    write(pooled, "orphaned", ["x/ok"] * 2)
    result = await carried_out(pooled, "orphaned", concurrency=2)
    assert (result.answered, result.left) == (2, 0)
    assert len(lines_of(pooled, "orphaned")) == 2
    assert "taken over" in result.warnings[0]
    assert not pooled.markers()


async def test_stop_stops_the_shards_and_what_no_worker_has_taken_up(pooled: Place) -> None:
    write(pooled, "stopped", ["x/sleep-tool"] * 4)
    path = pooled.project / "stopped.jsonl"
    going = asyncio.ensure_future(run_batch(path, agent="scripted", shards_on=f"{NAME}=4", concurrency=4))
    await asyncio.to_thread(until, lambda: len(at_work(pooled, "stopped")) == 2 or None)
    database = Database.open(home=pooled.home)
    control.set_control(database, "stopped", "stop")
    result = await going
    assert (result.ending, result.left, result.exit_code) == (Ending.STOPPED, 4, 130)
    assert not pooled.markers()
    assert all(run.state is not None and run.state.is_final() for run in await shard_runs("stopped"))
    database.close()


async def test_an_unknown_deployment_is_refused_with_the_nearest_name(pooled: Place) -> None:
    path = write(pooled, "unknown", ["x/ok"])
    with pytest.raises(UsageError, match="no deployment batch-shard/shards") as raised:
        await run_batch(path, agent="scripted", shards_on="shards")
    assert raised.value.hint == "did you mean shard?"
    assert not runs_of(pooled, "unknown")


def at_work(place: Place, name: str) -> list[RunRecord]:
    """The runs of a batch whose agents have begun a tool."""
    found = []
    for run in (run for of_item in runs_of(place, name).values() for run in of_item):
        stream = place.store.open(run.run_id).attempt(1).stream
        if stream.exists() and b"tool_execution_start" in stream.read_bytes():
            found.append(run)
    return found
