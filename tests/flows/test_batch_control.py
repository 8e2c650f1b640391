"""A batch under control: paused, gone on with, ended softly and hard, from this terminal and from another."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from typing import Literal

import pytest

from atomic.failures import FailureKind
from flows.batch import BatchResult, Ending, endings
from flows.database import Control, control
from tests.flows.batches import Batch, batch, until  # noqa: F401 - a fixture


def items(model: str) -> list[tuple[str, str]]:
    """Of slow-8 each takes a second."""
    return [(str(n), model) for n in range(16)]


def ask(batch: Batch, wanted: Control) -> None:  # noqa: F811
    """What a command in another terminal does."""
    database = batch.database()
    control.set_control(database, "items", wanted)
    database.close()


async def begun(batch: Batch, model: str = "x/slow-8", **given: object) -> asyncio.Future[BatchResult]:  # noqa: F811
    """A batch whose first sessions are at work."""
    batch.write(items(model))
    going = asyncio.ensure_future(batch.run(concurrency=2, **given))
    await until(lambda: any(told.running for told in batch.progress()))
    return going


async def test_paused_it_begins_nothing_until_it_is_resumed(batch: Batch) -> None:  # noqa: F811
    going = await begun(batch)
    ask(batch, "pause")
    await until(lambda: batch.progress()[-1].state == "paused" and not batch.progress()[-1].running)
    runs = len(batch.runs())
    assert runs < 16
    told = len(batch.progress())
    await until(lambda: len(batch.progress()) > told + 1)
    assert len(batch.runs()) == runs
    ask(batch, "run")
    assert (await going).answered == 16


@pytest.mark.parametrize(("wanted", "ending"), [("drain", Ending.DRAINED), ("stop", Ending.STOPPED)])
async def test_another_terminal_ends_it(
    batch: Batch,  # noqa: F811
    wanted: Literal["drain", "stop"],
    ending: Ending,
) -> None:
    going = await begun(batch, "x/slow-8" if wanted == "drain" else "x/slow-600")
    ask(batch, wanted)
    result = await going
    assert (result.ending, result.exit_code) == (ending, 130)
    assert result.left
    assert "goes on" in result.go_on
    kinds = {run.kind for run in batch.runs()}
    assert kinds == {None} if wanted == "drain" else FailureKind.CANCELLED in kinds
    assert batch.lines().keys() == {run.custom_id for run in batch.runs() if run.status == "answered"}
    batch.write(items("x/ok"))
    assert (await batch.run()).answered == 16


async def test_a_pause_can_be_ended_by_a_stop(batch: Batch) -> None:  # noqa: F811
    going = await begun(batch)
    ask(batch, "pause")
    await until(lambda: batch.progress()[-1].state == "paused")
    ask(batch, "stop")
    assert (await going).ending is Ending.STOPPED


async def test_a_cancel_stops_what_is_live_and_is_passed_on(batch: Batch) -> None:  # noqa: F811
    going = await begun(batch)
    going.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going
    assert all(run.ended for run in batch.runs())
    database = batch.database()
    (edition,) = control.editions_of(database, "items")
    database.close()
    assert (edition.status, edition.counts.running) == ("stopped", 0)
    assert (await batch.run()).answered == 16


async def test_a_loop_that_shuts_down_leaves_nothing(batch: Batch) -> None:  # noqa: F811
    going = await begun(batch)
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going
    assert all(run.ended for run in batch.runs())
    assert (await batch.run()).answered == 16


async def test_what_has_ended_is_written_and_counted_when_the_rest_is_stopped(
    batch: Batch,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(endings, "GATHER", 2.0)  # what has ended waits for longer than the stop takes
    batch.write([*((str(n), "x/ok") for n in range(5)), ("slow", "x/slow-600")])
    run = batch.begin(concurrency=6)
    going = asyncio.ensure_future(run.to_its_end())
    await until(lambda: sum(one.status == "answered" for one in batch.runs()) == 5)
    run.stop(Ending.STOPPED, "now", "somebody asked it to stop")
    result = await going
    assert (result.answered, result.ran, result.left) == (5, 5, 1)
    assert len(batch.lines()) == 5


async def test_one_that_is_stopped_before_it_begins_begins_nothing(batch: Batch) -> None:  # noqa: F811
    batch.write(items("x/slow-8"))
    run = batch.begin()
    run.stop(Ending.TERMINATED, "now", "SIGTERM")
    result = await run.to_its_end()
    assert (result.ending, result.exit_code, result.left) == (Ending.TERMINATED, 143, 16)
    assert not batch.runs()


KILLED = """
import asyncio
from flows.batch import BatchRun, prepare_batch
run = BatchRun(prepare_batch("items.jsonl", agent="scripted", concurrency=2))
asyncio.run(run.to_its_end())
"""


async def test_one_whose_process_was_killed_is_taken_over(batch: Batch) -> None:  # noqa: F811
    batch.write(items("x/slow-8"))
    process = subprocess.Popen([sys.executable, "-c", KILLED], cwd=batch.folder)
    try:
        await until(lambda: len(batch.runs()) > 2)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    result = await batch.run()
    assert (result.answered, result.left) == (16, 0)
    assert f"taken over from process {process.pid}" in batch.said()
    assert batch.lines().keys() == {name for name, _ in items("x/slow-8")}
    answered = [run.custom_id for run in batch.runs() if run.status == "answered"]
    assert len(answered) == len({*answered}) == 16
