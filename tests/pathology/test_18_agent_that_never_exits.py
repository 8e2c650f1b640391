"""Keeps away: the agent never exits after its answer, or is alive for days after "usage limit reached"."""

from __future__ import annotations

import asyncio
import signal

import pytest

from atomic.failures import FailureKind
from atomic.policy import Limits
from atomic.processes import identify, signal_process
from atomic.session import run_attempt
from atomic.verdict.facts import Status, StopReason
from tests.agents import Place, closing, left_of, message, opening, say


@pytest.mark.parametrize("settled", [True, False])
async def test_an_agent_that_never_exits_after_its_answer_is_ended(place: Place, settled: bool) -> None:
    script = say(*opening(), message("done"), *closing(settled=settled)) + "exec sleep 1000\n"
    record = await place.run(script, limits=Limits(settle=0.2))
    assert record.status is Status.ANSWERED
    assert record.verdict is not None
    assert record.verdict.stopped is StopReason.SETTLED
    assert record.exit_code == -signal.SIGTERM


async def test_an_agent_that_ignores_everything_is_killed(place: Place) -> None:
    spec = place.spec(
        say(*opening()) + "trap '' TERM INT HUP\nwhile :; do sleep 0.05; done\n", limits=Limits(idle=0.2), grace=0.2
    )
    record = await run_attempt(spec)
    assert record.exit_code == -signal.SIGKILL
    assert record.kind is FailureKind.STALLED
    assert left_of(spec) == []


async def test_a_process_that_hangs_in_the_system_is_reported_and_not_waited_for(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atomic.processes.child.LAST_WAIT", 0.1)
    monkeypatch.setattr("atomic.processes.ending.LAST_WAIT", 0.1)
    spec = place.spec(say(*opening()) + "exec sleep 1000\n", limits=Limits(idle=0.2), grace=0.1)
    monkeypatch.setattr("atomic.processes.ending.signal_process", lambda process, number: True)
    monkeypatch.setattr("atomic.processes.child.os.kill", lambda pid, number: None)
    record = await run_attempt(spec)
    monkeypatch.undo()
    assert record.kind is FailureKind.STALLED
    assert record.verdict is not None
    assert any("could not be ended" in warning for warning in record.verdict.warnings)
    assert record.process is not None
    signal_process(record.process, signal.SIGKILL)
    while identify(record.process.pid) == record.process:  # whenever it ends, it is reaped
        await asyncio.sleep(0.005)
