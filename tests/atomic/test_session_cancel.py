"""Cancels at every moment of a session: nothing may be left of it but its record."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from atomic.failures import FailureKind
from atomic.policy.facts import Limits
from atomic.processes import portable
from atomic.session import AttemptSpec, run_attempt
from atomic.verdict.facts import Status
from tests.agents import Place, answer, closing, left_of, message, opening, say, tool_start

WORKING = say(*opening(), tool_start()) + "setsid sleep 1000 &\nsleep 1000 &\nwait\n"


class CancellingLoop(asyncio.SelectorEventLoop):
    """A loop that cancels one task in the iterations it is told to, counted from the task's first."""

    def __init__(self, *at: int) -> None:
        super().__init__()
        self.at = at
        self.iterations = 0
        self.victim: asyncio.Task[Any] | None = None

    def _run_once(self) -> None:
        if self.victim is not None:
            if self.iterations in self.at:
                self.victim.cancel()
            self.iterations += 1
        super()._run_once()  # type: ignore[misc]

    def run_victim(self, work: Coroutine[Any, Any, Any]) -> bool:
        """Run it; returns whether it ended cancelled."""
        self.victim = self.create_task(work)
        self.run_until_complete(asyncio.wait((self.victim,)))
        cancelled = self.victim.cancelled()
        if not cancelled:
            self.victim.result()
        self.victim = None
        return cancelled


def cancel_at(place: Place, script: str, *at: int, **fields: Any) -> tuple[AttemptSpec, bool, int]:
    loop = CancellingLoop(*at)
    try:
        spec = place.spec(script, **fields)
        cancelled = loop.run_victim(run_attempt(spec))
        loop.run_until_complete(asyncio.sleep(0))
        return spec, cancelled, loop.iterations
    finally:
        loop.close()


@pytest.mark.parametrize("fsync", [False, True])
def test_a_cancel_at_any_step_of_an_answered_session_leaves_no_process(tmp_path: Path, fsync: bool) -> None:
    place = Place(tmp_path, fsync=fsync)
    script = "setsid sleep 1000 &\n" + answer()
    _, _, steps = cancel_at(place, script)
    for step in range(steps + 1):
        spec, cancelled, _ = cancel_at(place, script, step)
        assert left_of(spec) == [], f"cancelled in step {step}"
        if cancelled and spec.folder.path.exists():
            record = spec.folder.read()
            assert record.status is not None, f"no verdict after a cancel in step {step}"
            assert record.kind in {FailureKind.CANCELLED, None}


@pytest.mark.parametrize("second", range(1, 12))
def test_a_second_cancel_changes_nothing(tmp_path: Path, second: int) -> None:
    spec, cancelled, _ = cancel_at(Place(tmp_path), WORKING, 3, 3 + second, 4 + second, grace=0.5)
    assert cancelled
    assert left_of(spec) == []
    assert spec.folder.read().kind is FailureKind.CANCELLED


async def test_a_storm_of_cancels_changes_nothing(tmp_path: Path) -> None:
    place = Place(tmp_path)
    spec = place.spec(say(*opening()) + "trap '' TERM\nsetsid sleep 1000 &\nwhile :; do sleep 0.05; done\n", grace=0.3)
    task = asyncio.create_task(run_attempt(spec))
    await asyncio.sleep(0.1)
    while not task.done():
        task.cancel()
        await asyncio.sleep(0.001)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert left_of(spec) == []
    assert spec.folder.read().kind is FailureKind.CANCELLED


async def test_a_cancel_after_the_answer_has_settled_keeps_the_answer(tmp_path: Path) -> None:
    place = Place(tmp_path)
    spec = place.spec(say(*opening(), message("bought"), *closing()) + "exec sleep 1000\n", limits=Limits(settle=0))
    settled = asyncio.Event()
    task = asyncio.create_task(
        run_attempt(spec, on_progress=lambda progress: settled.set() if progress.phase == "settling" else None)
    )
    await settled.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    record = spec.folder.read()
    assert record.status is Status.ANSWERED
    assert record.verdict is not None
    assert record.verdict.answer == "bought"


def test_a_loop_that_shuts_down_takes_the_session_with_it(tmp_path: Path) -> None:
    place = Place(tmp_path, fsync=True)
    specs = [place.spec(WORKING) for _ in range(3)]

    async def main() -> list[asyncio.Task[Any]]:
        tasks = [asyncio.create_task(run_attempt(spec)) for spec in specs]
        await asyncio.sleep(0.2)
        tasks[0].cancel()  # one is already on its way out when all are cancelled
        await asyncio.sleep(0)
        return tasks

    tasks = asyncio.run(main())
    assert all(task.cancelled() for task in tasks)
    for spec in specs:
        assert left_of(spec) == []
        assert spec.folder.read().kind is FailureKind.CANCELLED


async def test_all_of_it_works_where_there_is_no_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atomic.processes.ids.SYSTEM", portable)
    monkeypatch.setattr("atomic.processes.kin.SYSTEM", portable)
    monkeypatch.delattr("os.pidfd_open", raising=False)
    monkeypatch.delattr("os.waitid", raising=False)
    place = Place(tmp_path)
    assert (await place.run(answer())).status is Status.ANSWERED
    spec = place.spec(WORKING.replace("wait", "env -i setsid sleep 1000 & echo $! > tool; wait"))
    task = asyncio.create_task(run_attempt(spec))
    while not (place.work / "tool").exists() or len(spec.folder.read().descendants) < 3:
        await asyncio.sleep(0.02)
    tool = int((place.work / "tool").read_text())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert left_of(spec, tool) == []


async def test_a_deadline_of_the_callers_works(tmp_path: Path) -> None:
    spec = Place(tmp_path).spec(WORKING)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await run_attempt(spec)
    assert left_of(spec) == []
