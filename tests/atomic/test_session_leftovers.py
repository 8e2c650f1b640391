"""Processes that a tool left running, where they may stay."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from atomic.failures import FailureKind
from atomic.policy import Limits
from atomic.processes import identify, is_alive, signal_process
from atomic.session import run_attempt
from atomic.verdict.facts import Status
from tests.agents import Place, answer, left_of, opening, say
from tests.pathology.stage import number


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


async def test_leftovers_are_kept_where_that_is_wanted(place: Place) -> None:
    agent = place.agent("setsid sleep 1000 &\necho $! > tool\n" + answer(), leftover="keep")
    record = await place.run(agent)
    left = identify(await number(place.work / "tool"))
    assert record.status is Status.ANSWERED
    assert left is not None
    assert is_alive(left)
    signal_process(left, signal.SIGKILL)


async def test_kept_leftovers_end_with_a_session_that_is_stopped(place: Place) -> None:
    agent = place.agent(say(*opening()) + "setsid sleep 1000 &\necho $! > tool\nwait\n", leftover="keep")
    spec = place.spec(agent, limits=Limits(idle=0.2))
    record = await run_attempt(spec)
    assert record.kind is FailureKind.STALLED
    assert left_of(spec, await number(place.work / "tool")) == []


async def test_a_build_daemon_may_stay(place: Place) -> None:
    daemon = place.folder / "builddaemon"
    daemon.symlink_to("/bin/sleep")
    script = f"setsid {daemon} 1000 & echo $! > daemon\nsetsid sleep 1000 & echo $! > tool\nsleep 0.2\n" + answer()
    spec = place.spec(place.agent(script, may_stay=("builddaemon",)))
    record = await run_attempt(spec)
    stayed = identify(await number(place.work / "daemon"))
    assert record.status is Status.ANSWERED
    assert [each.pid for each in left_of(spec, await number(place.work / "tool"))] == [stayed.pid if stayed else None]
    assert stayed is not None
    signal_process(stayed, signal.SIGKILL)
