"""Keeps away: a cancel ends the agent alone: its tool goes on, burns quota and holds a slot."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from atomic.failures import FailureKind
from atomic.processes import identify, is_alive
from atomic.session import run_attempt
from atomic.verdict.facts import StopReason
from tests.agents import Place, left_of, opening, say, tool_start
from tests.pathology.stage import number


@pytest.mark.parametrize("how", ["", "setsid ", "nohup setsid "])
async def test_a_cancel_ends_the_tools_and_not_only_the_leader(place: Place, how: str) -> None:
    spec = place.spec(
        say(*opening(), tool_start()) + f"{how}sh -c 'sleep 1000 & echo $! > tool; wait' &\ntrap '' INT\nwait\n"
    )
    task = asyncio.create_task(run_attempt(spec))
    tool = await number(place.work / "tool")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert left_of(spec, tool) == []
    record = spec.folder.read()
    assert record.kind is FailureKind.CANCELLED
    assert record.verdict is not None
    assert record.verdict.stopped is StopReason.CANCELLED


async def test_a_tool_that_cleared_its_environment_is_ended_as_it_was_seen(place: Place) -> None:
    # It begins in sight, below the agent; then its parent ends, and nothing leads to it any more.
    spec = place.spec(
        say(*opening(), tool_start())
        + "env -i setsid sh -c 'env -i sleep 1000 & echo $! > tool; sleep 1; exit' &\nwait\nsleep 1000\n"
    )
    task = asyncio.create_task(run_attempt(spec))
    tool = identify(await number(place.work / "tool"))
    assert tool is not None
    while tool not in spec.folder.read().descendants:
        await asyncio.sleep(0.02)
    while (row := Path(f"/proc/{tool.pid}/stat").read_text().rpartition(")")[2].split()[1]) != "1":
        assert row
        await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_alive(tool)
    assert tool in spec.folder.read().descendants
