"""A batch as Prefect flows: its states, tasks and artifacts, and how Prefect and signals end it."""

from __future__ import annotations

import asyncio
import json
import signal
from collections import Counter
from collections.abc import Iterable
from typing import Any
from uuid import UUID

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId, FlowRunFilterParentFlowRunId
from prefect.client.schemas.objects import FlowRun, TaskRun
from prefect.states import Cancelling

from atomic.errors import InputError
from flows.batch import BatchProgress, BatchResult, Ending, engine, run_batch
from flows.recovery import settle
from tests.flows.prefect_server import Place, artifacts_of, read_back


def write(place: Place, models: Iterable[str]) -> None:
    lines = [
        json.dumps({"custom_id": f"item-{n}", "prompt": f"prompt {n}", "models": one.split("+")})
        for n, one in enumerate(models)
    ]
    (place.project / "items.jsonl").write_text("".join(f"{line}\n" for line in lines))


async def carried_out(**given: Any) -> BatchResult:
    result: BatchResult = await run_batch("items.jsonl", agent="scripted", **given)
    return result


async def shards_of(flow_run_id: str, *, tasks: int = 1) -> list[tuple[FlowRun, list[TaskRun]]]:
    """The shards of a batch's flow run, each with its task runs, when the server has written so many of them."""
    parent = FlowRunFilterParentFlowRunId(any_=[UUID(flow_run_id)])
    async with get_client() as client:
        shards = await client.read_flow_runs(flow_run_filter=FlowRunFilter(parent_flow_run_id=parent))
    while True:
        found = [await read_back(str(shard.id)) for shard in sorted(shards, key=lambda one: one.name)]
        if sum(len(of_shard) for _, of_shard in found) >= tasks:
            return found
        await asyncio.sleep(0.1)


async def test_every_session_is_a_task_of_its_shard(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "SHARD_SIZE", 2)
    write(place, ["x/ok", "x/overflow+y/ok", "x/overflow"])
    result = await carried_out(name="the night", stop_after=0)
    assert (result.answered, result.failed, result.ending) == (2, 1, Ending.FINISHED)
    assert result.flow_run_id is not None
    flow_run, _ = await read_back(result.flow_run_id)
    assert flow_run.name == "the night"
    assert flow_run.state is not None
    assert flow_run.state.name == "Some failed"
    assert "2 answered, 1 failed" in str(flow_run.state.message)
    shards = await shards_of(result.flow_run_id, tasks=4)
    assert len(shards) == 2
    tasks = Counter(task.name for _, tasks in shards for task in tasks)
    assert tasks == {
        "attempt 1 · x/ok · item-0": 1,
        "attempt 1 · x/overflow · item-1": 1,
        "attempt 2 · y/ok · item-1": 1,
        "attempt 1 · x/overflow · item-2": 1,
    }
    assert {run.flow_run_id for run in place.runs()} == {str(shard.id) for shard, _ in shards}


async def test_its_artifacts_are_a_table_and_how_far_it_came(place: Place) -> None:
    write(place, ["x/ok", "x/overflow"])
    result = await carried_out(name="The Night", stop_after=0)
    assert result.flow_run_id is not None
    by_type = {artifact.type: artifact for artifact in await artifacts_of(flow_run_id=result.flow_run_id)}
    assert by_type["table"].key == "batch-the-night"
    assert json.loads(str(by_type["table"].data)) == [
        {"outcome": "answered", "items": 1},
        {"outcome": "failed: overflow", "items": 1},
    ]
    assert "--retry-failed" in str(by_type["table"].description)
    assert by_type["progress"].data == 100


@pytest.mark.parametrize("track", ["shard", "auto"])
async def test_less_is_tracked_when_that_is_asked(place: Place, track: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flows.batch.tracking.FEWEST", 4)
    monkeypatch.setattr("flows.batch.tracking.MOST_TASKS", 0.0)
    write(place, ["x/ok"] * 12)
    result = await carried_out(track=track, concurrency=2)
    assert result.answered == 12
    assert result.flow_run_id is not None
    ((_, tasks),) = await shards_of(result.flow_run_id)
    names = [task.name for task in tasks]
    assert names == ["shard 1"] if track == "shard" else 4 <= len(names) < 12


async def test_what_is_wrong_is_raised_before_there_is_a_flow_run(place: Place) -> None:
    write(place, [])
    with pytest.raises(InputError):
        await carried_out()
    assert not place.runs()


async def test_prefects_cancelling_stops_it(place: Place) -> None:
    write(place, ["x/slow-600"] * 3)
    told: list[Any] = []
    going = asyncio.ensure_future(carried_out(on_event=told.append))

    async def flow_run_id() -> UUID:
        while not any(isinstance(one, BatchProgress) and one.running for one in told):
            await asyncio.sleep(0.05)
        async with get_client() as client:
            (shard,) = {run.flow_run_id for run in place.runs()}
            task = (await client.read_flow_run(UUID(str(shard)))).parent_task_run_id
            assert task is not None
            found = (await client.read_task_run(task)).flow_run_id
            assert found is not None
            await client.set_flow_run_state(found, Cancelling(), force=True)
            return found

    cancelled = await flow_run_id()
    result = await going
    assert (result.ending, result.left, result.exit_code) == (Ending.CANCELLED, 3, 130)
    flow_run, _ = await read_back(str(cancelled))
    assert flow_run.state is not None
    assert flow_run.state.is_cancelled()
    assert not place.markers()


PROGRAM = """
import asyncio
from flows.batch import run_batch
try:
    result = asyncio.run(run_batch("items.jsonl", agent="scripted"))
except BaseException as error:
    print(type(error).__name__, flush=True)
    raise
"""


@pytest.mark.parametrize(
    ("number", "raised"), [(signal.SIGINT, "KeyboardInterrupt"), (signal.SIGTERM, "TerminationSignal")]
)
async def test_signals_stop_it_and_are_raised(place: Place, number: signal.Signals, raised: str) -> None:
    write(place, ["x/sleep-tool"] * 2)
    process = place.start(PROGRAM)
    place.until_tool_runs(process)
    process.send_signal(number)
    out, err = await asyncio.to_thread(process.communicate)
    assert out.decode().strip() == raised, err.decode()
    assert not place.markers()
    assert all(run.ended for run in place.runs())


async def until_written(flow_run_id: str) -> None:
    """Until the server has written down the task runs of both items: it does so a few seconds after it was told."""
    only = FlowRunFilter(id=FlowRunFilterId(any_=[UUID(flow_run_id)]))
    async with get_client() as client:
        while [task.state_name for task in await client.read_task_runs(flow_run_filter=only)] != ["Running"] * 2:
            await asyncio.sleep(0.1)


async def test_what_a_kill_left_running_in_prefect_is_ended(place: Place) -> None:
    write(place, ["x/sleep-tool"] * 2)
    process = place.start(PROGRAM)
    shard = str(place.until_tool_runs(process).flow_run_id)
    await until_written(shard)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    write(place, ["x/ok"] * 2)
    result = await carried_out()
    assert result.answered == 2
    assert not place.markers()
    await settle(place.store)
    async with get_client() as client:
        flow_run = await client.read_flow_run(UUID(shard))
        assert flow_run.parent_task_run_id is not None
        whole = (await client.read_task_run(flow_run.parent_task_run_id)).flow_run_id
        assert whole is not None
        states = [flow_run.state, (await client.read_flow_run(whole)).state]
        only = FlowRunFilter(id=FlowRunFilterId(any_=[flow_run.id, whole]))
        states += [task.state for task in await client.read_task_runs(flow_run_filter=only)]
    assert {state.type.value for state in states if state is not None} == {"CRASHED"}


def test_the_synchronous_form(place: Place) -> None:
    from flows.batch import run_batch_sync

    write(place, ["x/ok"])
    assert run_batch_sync("items.jsonl", agent="scripted").exit_code == 0
