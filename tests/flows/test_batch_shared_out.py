"""A batch that is shared out to shards elsewhere, here by tasks of this process: what holds for the whole of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

import pytest

from atomic.errors import AtomicError, FolderBusy, UsageError
from atomic.settings import load_settings
from flows.batch import BatchResult, BatchRun, Ending, Notice, coordinator, work
from flows.batch.pool import Live, PoolAway, Seen, ShardsOn, Share, next_share, size_of
from flows.batch.shard_run import taken_up
from flows.database import control
from tests.agents import answer
from tests.flows.batches import Batch, batch, fails, until  # noqa: F401 - a fixture


class Here:
    """A pool whose workers are tasks of this process."""

    work_pool = "here"

    def __init__(self, *, workers: int = 9) -> None:
        self.started: list[dict[str, Any]] = []
        self.away = False
        self._workers = workers
        self._tasks: dict[str, asyncio.Task[str]] = {}
        self._cancelled: set[str] = set()

    async def start(self, name: str, parameters: Mapping[str, str | int | None]) -> str:
        if self.away:
            raise PoolAway("no server")
        self.started.append(dict(parameters))
        run = str(len(self.started))
        if len(self._tasks) < self._workers:
            self._tasks[run] = asyncio.create_task(self._work(dict(parameters)))
        return run

    async def look(self, flow_run_ids: Collection[str]) -> Mapping[str, Seen]:
        return {run: self._seen(run) for run in flow_run_ids}

    async def cancel(self, flow_run_ids: Collection[str]) -> None:
        self._cancelled.update(flow_run_ids)

    def _seen(self, run: str) -> Seen:
        task = self._tasks.get(run)
        if task is None:
            return Seen(ended=run in self._cancelled, waits=run not in self._cancelled, failed=False, message="")
        wrong = task.result() if task.done() else ""
        return Seen(ended=task.done(), waits=False, failed=bool(wrong), message=wrong)

    async def _work(self, given: dict[str, Any]) -> str:
        try:
            settings = load_settings(given["cwd"], given.pop("config"))
            async with taken_up(settings, number=given.pop("shard"), **given) as run:
                await run.to_its_end()
        except AtomicError as error:
            return error.message
        return ""


async def shared_out(batch: Batch, pool: Here, **given: Any) -> BatchResult:  # noqa: F811
    run = batch.begin(**{"shards_on": "shard=2", "concurrency": 2, **given})
    return await run.to_its_end(pool=pool)


async def test_small_batches_are_cut_into_as_many_pieces_as_there_may_be_shards(batch: Batch) -> None:  # noqa: F811
    batch.write([(f"item-{n}", "x/overflow" if n == 3 else "x/ok") for n in range(6)])
    pool = Here()
    result = await shared_out(batch, pool)
    assert (result.answered, result.failed, result.ran, result.ending) == (5, 1, 6, Ending.FINISHED)
    assert len(batch.lines()) == 6
    assert list(batch.lines("errors.jsonl")) == ["item-3"]
    assert [one["shard"] for one in pool.started] == [1, 2]
    assert Counter(run.custom_id for run in batch.runs()) == {f"item-{n}": 1 for n in range(6)}
    again = await shared_out(batch, Here(), retry_failed=True)
    assert (again.ran, again.failed) == (1, 1)


async def test_it_begins_as_many_items_as_are_asked_for(batch: Batch) -> None:  # noqa: F811
    batch.write([(f"item-{n}", "x/ok") for n in range(7)])
    result = await shared_out(batch, Here(), limit=5)
    assert (result.ending, result.answered, result.left) == (Ending.LIMIT, 5, 2)
    assert len(batch.runs()) == 5


async def test_a_budget_holds_for_all_shards_together(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    for module in ("coordinator", "shard_run"):
        monkeypatch.setattr(f"flows.batch.{module}.SPENT_EVERY", 0.0)
    batch.write([(f"item-{n}", "x/slow-5") for n in range(20)])
    result = await shared_out(batch, Here(), max_tokens=200)
    assert result.ending is Ending.BUDGET
    assert 0 < result.answered < 20
    assert len(batch.lines()) == result.answered
    assert result.left == 20 - result.answered


async def test_so_many_failures_in_a_row_halt_all_shards(batch: Batch) -> None:  # noqa: F811
    batch.write([(f"item-{n}", "x/ok") for n in range(40)])
    agent = batch.agent(fails("400 this model is not what you think"))
    result = await shared_out(batch, Here(), agent=agent, stop_after=4)
    assert result.ending is Ending.HALTED
    assert "in a row" in result.reason
    assert 4 <= result.failed < 40


async def test_pause_drain_and_stop_reach_the_shards(batch: Batch) -> None:  # noqa: F811
    batch.write([(f"item-{n}", "x/slow-600") for n in range(9)])
    run = batch.begin(shards_on="shard=2", concurrency=2)
    going = asyncio.ensure_future(run.to_its_end(pool=Here()))
    await until(lambda: len(batch.runs()) == 2)
    database = batch.database()
    control.set_control(database, "items", "pause")
    await until(lambda: run.progress is not None and run.progress.state == "paused")
    control.set_control(database, "items", "drain")
    await until(lambda: run.progress is not None and run.progress.state == "ending")
    control.set_control(database, "items", "stop")
    result = await going
    assert (result.ending, result.answered, result.left) == (Ending.DRAINED, 0, 9)
    assert len(batch.runs()) == 2
    database.close()


async def test_a_cancel_stops_the_shards(batch: Batch) -> None:  # noqa: F811
    batch.write([(f"item-{n}", "x/slow-600") for n in range(2)])
    going = asyncio.ensure_future(batch.begin(shards_on="shard=2", concurrency=2).to_its_end(pool=Here()))
    await until(lambda: len(batch.runs()) == 2)
    going.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going
    assert all(run.ended for run in batch.runs())


async def test_workers_that_cannot_carry_it_out_halt_it(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    batch.write([("item", "x/ok")])
    monkeypatch.setattr("flows.batch.shard_form.flags_of", lambda form, calls=[]: [*calls, calls.append("x")])
    result = await shared_out(batch, Here())
    assert result.ending is Ending.HALTED
    assert "3 shards in a row came to nothing: this worker calls the agent with other flags" in result.reason
    assert not batch.runs()


async def test_without_a_worker_it_says_so_and_waits(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setattr(coordinator, "UNTAKEN_AFTER", 0.0)
    monkeypatch.setattr(coordinator, "LOOK_EVERY", 0.0)
    batch.write([("item", "x/ok")])
    pool = Here(workers=0)
    run = batch.begin(shards_on="shard=2")
    going = asyncio.ensure_future(run.to_its_end(pool=pool))
    await until(lambda: "prefect worker start --pool here" in batch.said())
    run.stop(Ending.INTERRUPTED, "now", "it was interrupted")
    assert (await going).left == 1
    assert pool._cancelled == {"1"}


async def test_while_prefect_is_away_no_shard_begins_and_then_one_does(batch: Batch) -> None:  # noqa: F811
    batch.write([("item", "x/ok")])
    pool = Here()
    pool.away = True
    going = asyncio.ensure_future(batch.begin(shards_on="shard").to_its_end(pool=pool))
    await until(lambda: "Prefect starts no shard now (no server)" in batch.said())
    pool.away = False
    assert (await going).answered == 1
    assert sum(isinstance(event, Notice) for event in batch.events) == 1


async def test_a_run_that_waits_goes_on_in_its_shard(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setattr(work, "PARK_FROM", 0.1)
    batch.write([(f"item-{n}", "a/one") for n in range(4)])
    limited = f'if mkdir "{batch.folder}/limited" 2>/dev/null; then {fails("429 rate limit exceeded")} exit 1; fi\n'
    agent, policy = batch.agent(limited + answer()), {"cooldown": {"rate_limit": 2}}
    result = await shared_out(batch, Here(), agent=agent, policy=policy)
    assert (result.answered, len(batch.runs())) == (4, 4)
    assert any(told.parked for told in batch.progress())


async def test_without_prefect_there_are_no_workers(batch: Batch) -> None:  # noqa: F811
    batch.write([("item", "x/ok")])
    with pytest.raises(UsageError, match="go through Prefect"):
        await batch.run(shards_on="shard")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("shard", ShardsOn("shard")),
        ("shard=8", ShardsOn("shard", 8)),
        (" batch-shard/big gpu = 2", None),
        ("batch-shard/night=2", ShardsOn("night", 2)),
        ("run-batch/batch", None),
        ("shard=0", None),
        ("", None),
    ],
)
def test_how_a_deployment_is_named(text: str, meant: ShardsOn | None) -> None:
    if meant is None:
        with pytest.raises(UsageError):
            ShardsOn.parse(text)
    else:
        assert ShardsOn.parse(text) == meant


@pytest.mark.parametrize(
    ("live", "waiting", "allowed", "expected"),
    [
        ([], 1000, None, Share(200, 4)),
        ([Live(200, 4)], 1000, None, Share(200, 3)),
        ([Live(200, 4), Live(200, 3), Live(0, 3)], 1000, None, None),
        ([Live(200, 4)], 150, None, None),
        ([Live(100, 4)], 150, None, Share(50, 3)),
        ([], 1000, 30, Share(30, 4)),
        ([], 1000, 0, None),
        ([], 0, None, None),
    ],
)
def test_the_next_shard(live: list[Live], waiting: int, allowed: int | None, expected: Share | None) -> None:
    assert next_share(live, shards=3, sessions=10, waiting=waiting, size=200, allowed=allowed) == expected


def test_the_size_of_a_shard() -> None:
    assert [size_of(left, 4, 200) for left in (0, 1, 10, 5000)] == [1, 1, 3, 200]


def test_limits_that_shards_could_not_keep_are_refused(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    batch.write([("a", "x/ok"), ("b", "x/ok")])
    monkeypatch.setenv("ATOMIC_FLOWS_BATCH__SHARES", "{ anthropic = 2 }")
    with pytest.raises(UsageError, match="4 shards at a time cannot keep to 2 sessions of anthropic"):
        batch.prepare(shards_on="shard")
    assert batch.prepare(shards_on="shard", concurrency=2).asked.shards_on == ShardsOn("shard", 2)
    monkeypatch.setenv("ATOMIC_FLOWS_SHARED", "false")
    with pytest.raises(FolderBusy):
        batch.prepare(shards_on="shard=2", concurrency=2)
    assert isinstance(BatchRun(batch.prepare(shards_on="shard=2", concurrency=1)), BatchRun)
