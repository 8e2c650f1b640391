"""Owners killed with SIGKILL: the next start ends what they left, and no answer is lost or bought twice."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from atomic.errors import UsageError
from atomic.failures import FailureKind
from atomic.policy.facts import Limits
from atomic.processes import is_alive
from atomic.record import RunStore
from atomic.record.owner import host_name, this_process
from atomic.recovery import Recovered, claim, recover
from atomic.verdict.facts import StopReason
from tests.atomic.owners import HEAD, TAIL, Scene, disown


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path)
    yield scene
    scene.end()


async def test_an_answer_that_was_there_is_found(scene: Scene) -> None:
    killed = scene.killed("answer")
    found = await recover(scene.store)
    run = killed.run
    assert (run.status, run.answer, run.answered_by, run.kind) == ("answered", "forty-two", "fake/ok", None)
    assert (run.usage.input, run.cost_usd) == (10, 0.25)
    assert run.flow_run_id == "flow"
    assert killed.attempt.exit_code is None
    assert killed.attempt.stream is not None
    assert not killed.folder.attempt(1).stream.exists()
    assert killed.stream == HEAD + TAIL
    assert list(scene.store.live.entries()) == []
    assert [one.run for one in found.runs] == [run]
    assert found.sentence() == "Found 1 run cut off by a kill: 1 was answered."


async def test_a_running_agent_is_stopped_with_its_tools(scene: Scene) -> None:
    killed = scene.killed("tool")
    assert len(scene.living(killed.run_id)) == 2
    found = await recover(scene.store)
    assert scene.living(killed.run_id) == []
    assert (killed.run.status, killed.run.kind) == ("failed", FailureKind.INTERRUPTED)
    assert "attempt 1 (fake/ok): interrupted" in killed.run.message
    assert killed.verdict.kind is FailureKind.INTERRUPTED
    assert killed.stream == HEAD
    assert found.sentence() == "Found 1 run cut off by a kill: 1 interrupted; stopped 1 agent and 1 tool."


async def test_a_tool_that_outlived_its_agent_is_ended(scene: Scene) -> None:
    killed = scene.killed("tool")
    process = killed.attempt.process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    while is_alive(process):
        await asyncio.sleep(0.005)
    found = await recover(scene.store)
    assert scene.living(killed.run_id) == []
    assert (found.ended.agents, found.ended.tools) == (0, 1)


async def test_what_may_outlive_its_agent_outlives_its_owner_too(scene: Scene) -> None:
    killed = scene.killed("tool")
    folder, record = killed.folder.attempt(1), killed.attempt
    (tool,) = (each for each in scene.living(killed.run_id) if each != record.process)
    folder.write(record.model_copy(update={"may_stay": (psutil.Process(tool.pid).name(),)}))
    found = await recover(scene.store)
    assert scene.living(killed.run_id) == [tool]
    assert (found.ended.agents, found.ended.tools) == (1, 0)


async def test_a_running_agent_may_be_followed_to_its_answer(scene: Scene) -> None:
    killed = scene.killed("wait")
    recovery = asyncio.create_task(recover(scene.store, adopt="follow"))
    await asyncio.sleep(0.3)
    assert len(scene.living(killed.run_id)) == 1, "it is let run"
    assert killed.run.status == "running"
    scene.go.touch()
    found = await recovery
    assert (killed.run.status, killed.run.answer) == ("answered", "forty-two")
    assert found.ended.agents == 0


async def test_one_that_is_followed_keeps_its_limits(scene: Scene) -> None:
    killed = scene.killed("tool")
    attempt = killed.folder.attempt(1)
    attempt.write(attempt.read().model_copy(update={"limits": Limits(total=0.001)}))
    found = await recover(scene.store, adopt="follow")
    assert scene.living(killed.run_id) == []
    assert killed.verdict.kind is FailureKind.TIMEOUT
    assert killed.verdict.stopped is StopReason.TOTAL
    assert (found.ended.agents, found.ended.tools) == (1, 1)


async def test_an_agent_whose_run_is_not_listed_is_found_by_its_marker(scene: Scene) -> None:
    killed = scene.killed("tool")
    scene.store.live.leave(killed.run_id)
    found = await recover(scene.store)
    assert scene.living(killed.run_id) == []
    assert [one.run.run_id for one in found.runs] == [killed.run_id]
    assert killed.run.kind is FailureKind.INTERRUPTED


async def test_processes_of_another_home_are_left_alone(scene: Scene, tmp_path: Path) -> None:
    killed = scene.killed("wait")
    other = RunStore(tmp_path / "other" / "records", home=tmp_path / "other" / "home")
    assert await recover(other) == Recovered()
    assert len(scene.living(killed.run_id)) == 1


async def test_what_another_boot_wrote_is_neither_alive_nor_signalled(scene: Scene) -> None:
    killed = scene.killed("wait")
    bystander = scene.living(killed.run_id)[0]
    # As after a reboot: the numbers on record stand for other processes now.
    attempt = killed.folder.attempt(1)
    attempt.write(attempt.read().model_copy(update={"boot_id": "an earlier boot"}))
    disown(scene, killed, this_process().model_copy(update={"boot_id": "an earlier boot"}))
    found = await recover(scene.store, adopt="follow")
    assert is_alive(bystander)
    assert found.ended.agents == 0
    assert (killed.run.status, killed.run.kind) == ("failed", FailureKind.INTERRUPTED)


async def test_another_machines_runs_are_left_alone(scene: Scene) -> None:
    killed = scene.killed("answer")
    owner = killed.run.owner
    assert owner is not None
    disown(scene, killed, owner.model_copy(update={"host": host_name() + "-other"}))
    assert await recover(scene.store) == Recovered()
    assert killed.run.status == "running"
    note = scene.store.keys._note("k")
    assert note is not None
    scene.store.keys._write(note.model_copy(update={"owner": killed.run.owner}))
    with pytest.raises(UsageError, match="already running"):
        await claim(scene.store, "k")


async def test_a_living_owners_run_is_left_alone(scene: Scene) -> None:
    folder = scene.store.create(b"p")
    assert await recover(scene.store) == Recovered()
    assert folder.read().status == "running"


async def test_a_number_that_another_process_got_is_not_signalled(scene: Scene) -> None:
    killed = scene.killed("answer")
    bystander = subprocess.Popen(["sleep", "600"])
    try:
        attempt = killed.folder.attempt(1)
        attempt.write(attempt.read().model_copy(update={"pid": bystander.pid, "process_started": 1.0}))
        await recover(scene.store)
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()
    assert killed.run.status == "answered"


async def test_of_two_recoveries_one_acts(scene: Scene) -> None:
    killed = scene.killed("tool")
    found = await asyncio.gather(*(recover(scene.store) for _ in range(4)))
    assert [one.run.run_id for each in found for one in each.runs] == [killed.run_id]
    assert await recover(scene.store) == Recovered()
    assert sorted(path.name for path in scene.store.live.folder.iterdir()) == []


async def test_many_runs_at_once(scene: Scene) -> None:
    modes = ["answer", "tool", "wait", "answer"]
    killed = [scene.killed(mode) for mode in modes]
    found = await recover(scene.store)
    assert {one.run.run_id for one in found.runs} == {one.run_id for one in killed}
    assert [one.run.status for one in killed] == ["answered", "failed", "failed", "answered"]
    assert found.sentence() == (
        "Found 4 runs cut off by a kill: 2 were answered, 2 interrupted; stopped 2 agents and 1 tool."
    )
    assert all(scene.living(one.run_id) == [] for one in killed)


# A key whose owner was killed


async def test_an_answer_is_not_bought_twice_after_a_kill_before_run_json(scene: Scene) -> None:
    killed = scene.killed("answer")
    taken = scene.store.claim("k")
    assert (taken.answered, taken.orphan) == (None, killed.run_id)
    claimed = await claim(scene.store, "k")
    assert claimed.answered is not None
    assert claimed.answered.answer == "forty-two"
    assert claimed.answered.run_id == killed.run_id


async def test_a_key_whose_run_was_cut_off_is_free_when_its_agent_is_gone(scene: Scene) -> None:
    killed = scene.killed("tool")
    claimed = await claim(scene.store, "k")
    assert (claimed.answered, claimed.orphan) == (None, None)
    assert scene.living(killed.run_id) == []
    with pytest.raises(UsageError, match="already running"):
        await claim(scene.store, "k")


async def test_of_two_claims_of_a_dead_owners_key_both_get_its_answer(scene: Scene) -> None:
    scene.killed("answer")
    claims = await asyncio.gather(*(claim(scene.store, "k") for _ in range(3)))
    assert [one.answered.answer for one in claims if one.answered] == ["forty-two"] * 3
