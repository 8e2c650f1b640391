"""A real agent that has run tools: its work is carried on, and stopping it stops them."""

from __future__ import annotations

import asyncio
import contextlib

import psutil
import pytest

from atomic.failures import FailureKind as Kind
from atomic.policy import FallbackPolicy
from atomic.processes import marked
from atomic.runner import AttemptProgress, RunEvent, RunStarted
from tests.e2e.real import RealAgent


async def test_after_tools_the_next_model_goes_on_with_the_conversation(real: RealAgent) -> None:
    result = await real.ask("do the work", "fake/overflow-after-tool", "other/ok")
    assert [(attempt.kind, attempt.carry) for attempt in result.attempts] == [(Kind.OVERFLOW, False), (None, True)]
    assert (real.work / "worked.txt").read_text() == "worked\n"
    (seen,) = real.requests("other/ok")
    assert "tool" in seen.roles
    assert seen.last_text == FallbackPolicy().continue_prompt
    first, second = (real.attempt(result, n) for n in (1, 2))
    assert first.session_file is not None
    assert first.verdict is not None
    assert second.verdict is not None
    assert second.verdict.session_id == first.verdict.session_id


async def test_cancelling_ends_the_agent_and_its_tool(real: RealAgent) -> None:
    started: list[RunStarted] = []
    tool_runs = asyncio.Event()

    def watch(event: RunEvent) -> None:
        if isinstance(event, RunStarted):
            started.append(event)
        elif isinstance(event, AttemptProgress) and event.progress.tool:
            tool_runs.set()

    task = asyncio.create_task(real.ask("sleep", "fake/sleeptool", "other/ok", on_event=watch))
    await tool_runs.wait()
    marker = f"{started[0].run_id}/1"
    while "sleep" not in _names(marker):  # it is announced before its program runs
        await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert marked([marker])[marker] == []
    record = real.store.open(started[0].run_id).read()
    assert (record.status, record.kind) == ("failed", Kind.CANCELLED)
    assert not real.requests("other/ok")


def _names(marker: str) -> list[str]:
    found = []
    for process in marked([marker])[marker]:
        with contextlib.suppress(psutil.NoSuchProcess):
            found.append(psutil.Process(process.pid).name())
    return found
