"""Owners killed with SIGKILL: the next start ends what they left, and no answer is lost or bought twice."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from atomic.errors import RunNotFound, UsageError
from atomic.failures import FailureKind
from atomic.policy.facts import Limits
from atomic.processes import ProcessId, is_alive, marked
from atomic.record import AttemptRecord, Owner, RunRecord, RunStore
from atomic.record.layout import RUN_FILE
from atomic.record.owner import host_name, this_process
from atomic.recovery import Recovered, claim, recover, runs
from atomic.verdict.facts import StopReason, Verdict

HEAD = b"""\
{"type":"session","version":3,"id":"s-1","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}
{"type":"agent_start"}
{"type":"turn_start"}
{"type":"message_start","message":{"role":"user","content":[{"type":"text","text":"p"}]}}
{"type":"message_end","message":{"role":"user","content":[{"type":"text","text":"p"}]}}
{"type":"message_start","message":{"role":"assistant","content":[],"provider":"fake","model":"ok","stopReason":"stop"}}
"""
TAIL = b"""\
{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"forty-two"}],"provider":"fake",\
"model":"ok","stopReason":"stop","usage":{"input":10,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":12,\
"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0.25}}}}
{"type":"turn_end","message":{"role":"assistant"},"toolResults":[]}
{"type":"agent_end","messages":[]}
{"type":"agent_settled"}
"""

# An agent: writes the head, starts a tool in a session of its own, and does as it is told.
AGENT = """
import os, subprocess, sys, time
head, tail, mode, go = os.fsencode(sys.argv[1]), os.fsencode(sys.argv[2]), sys.argv[3], sys.argv[4]
os.write(1, head)
if mode == "tool":
    subprocess.Popen(["sleep", "600"], start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
if mode != "answer":
    while not os.path.exists(go):
        time.sleep(0.01)
os.write(1, tail)
"""

# An owner: begins a run as a session does, starts the agent, says so, and waits to be killed.
OWNER = """
import os, subprocess, sys, time
from pathlib import Path
from atomic.policy.facts import Limits
from atomic.processes import MARKER, boot_id, identify
from atomic.record import AttemptRecord, RunStore
from atomic.record.owner import host_name
root, key, mode, agent = Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]
store = RunStore(root / "records", home=root / "home", fsync=False)
store.claim(key)
folder = store.create(b"p", key=key, name=mode, flow_run_id="flow")
attempt = folder.attempt(1)
attempt.create(b"p")
record = AttemptRecord(run_id=folder.run_id, n=1, model="fake/ok", record="attempt-1", marker=attempt.marker,
    started_at=time.time(), boot_id=boot_id(), host=host_name())
attempt.write(record)
with attempt.stream.open("wb") as out:
    child = subprocess.Popen(agent, stdin=subprocess.DEVNULL, stdout=out, start_new_session=True,
        env={**os.environ, MARKER: attempt.marker})
found = identify(child.pid)
attempt.write(record.model_copy(update={"pid": found.pid, "process_started": found.start_time}))
if mode == "answer":
    child.wait()
print(folder.run_id, flush=True)
time.sleep(600)
"""


class Scene:
    """A home in which owners are started and killed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.go = root / "go"
        self.store = RunStore(root / "records", home=root / "home", fsync=False)
        self.markers: list[str] = []

    def killed(self, mode: str) -> RunFolderOf:
        """An owner that has begun a run (the first has the key "k"), and has been killed: its agent may still run."""
        key = "k" if not self.markers else f"k{len(self.markers)}"
        agent = [sys.executable, "-c", AGENT, os.fsdecode(HEAD), os.fsdecode(TAIL), mode, str(self.go)]
        owner = subprocess.Popen(
            [sys.executable, "-c", OWNER, str(self.root), key, mode, *agent], stdout=subprocess.PIPE, text=True
        )
        assert owner.stdout is not None
        run_id = owner.stdout.readline().strip()
        self.markers.append(f"{run_id}/1")
        stream = self.store.open(run_id).attempt(1).stream
        while stream.stat().st_size < len(HEAD):
            time.sleep(0.005)
        if mode == "tool":
            while len(self.living(run_id)) < 2:
                time.sleep(0.005)
        owner.kill()
        owner.wait()
        owner.stdout.close()
        return RunFolderOf(self.store, run_id)

    def living(self, run_id: str) -> list[ProcessId]:
        """The processes of a run's first attempt."""
        return marked([f"{run_id}/1"])[f"{run_id}/1"]

    def end(self) -> None:
        for processes in marked(self.markers).values():
            for process in processes:
                os.kill(process.pid, signal.SIGKILL)


class RunFolderOf:
    """Shorthand for looking at one run."""

    def __init__(self, store: RunStore, run_id: str) -> None:
        self.run_id = run_id
        self.folder = store.open(run_id)

    @property
    def run(self) -> RunRecord:
        return self.folder.read()

    @property
    def attempt(self) -> AttemptRecord:
        return self.folder.attempt(1).read()

    @property
    def verdict(self) -> Verdict:
        verdict = self.attempt.verdict
        assert verdict is not None
        return verdict

    @property
    def stream(self) -> bytes:
        return b"".join(self.folder.attempt(1).lines())


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


def disown(scene: Scene, killed: RunFolderOf, owner: Owner) -> None:
    """Give the run another owner."""
    killed.folder.write(killed.run.model_copy(update={"owner": owner}))
    scene.store.live.enter(killed.run_id, killed.folder.path, owner, scene.store.root)


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


# Kills at every step of a recovery, and of what it finds


class Killed(BaseException):
    """Stands for the end of the process at this point."""


@pytest.mark.parametrize("mode", ["answer", "tool"])
async def test_a_recovery_that_is_killed_is_made_good_by_the_next(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    killed = scene.killed(mode)
    stages = 0
    for stage in ("end_processes", "follow", "read_verdict", "_concluded"):
        with monkeypatch.context() as patch:
            patch.setattr(runs, stage, dying)
            try:
                await recover(scene.store, adopt="follow" if stage == "follow" else "stop")
            except Killed:
                stages += 1
        assert [entry.run_id for entry in scene.store.live.entries()] == [killed.run_id]
    assert stages == 4
    await recover(scene.store)
    assert killed.run.status == ("answered" if mode == "answer" else "failed")
    assert killed.stream == (HEAD + TAIL if mode == "answer" else HEAD)


def dying(*args: Any, **kwargs: Any) -> None:
    raise Killed


async def test_runs_left_half_made_go_away(scene: Scene) -> None:
    folder = scene.store.create(b"p", key="k")
    other = scene.store.create(b"p")
    gone = scene.store.create(b"p")
    dead = this_process().model_copy(update={"process_started": 1.0})
    for one in (folder, other, gone):
        scene.store.live.enter(one.run_id, one.path, dead, scene.store.root)
    note = scene.store.keys._note("k")
    assert note is not None
    scene.store.keys._write(note.model_copy(update={"owner": dead}))
    (folder.path / RUN_FILE).unlink()  # killed before it was written
    for path in gone.path.iterdir():
        path.unlink()
    gone.path.rmdir()  # killed before the folder was made
    other.write(other.read().model_copy(update={"owner": dead}))  # killed before its first attempt
    found = await recover(scene.store)
    assert found.failures == ()
    assert not folder.path.exists()
    assert [one.run.run_id for one in found.runs] == [other.run_id]
    assert "before its first attempt" in other.read().message
    assert list(scene.store.live.entries()) == []
    assert (await claim(scene.store, "k")).orphan is None
    with pytest.raises(RunNotFound):
        scene.store.open(gone.run_id)


@pytest.mark.parametrize("content", [b"", b"\0" * 64, b'{"run_id"'])
@pytest.mark.parametrize("name", ["run.json", "attempt-1/attempt.json", "live"])
async def test_damaged_files_do_not_hide_an_answer(scene: Scene, name: str, content: bytes) -> None:
    killed = scene.killed("answer")
    path = scene.store.live.folder / f"{killed.run_id}.json" if name == "live" else killed.folder.path / name
    path.write_bytes(content)
    found = await recover(scene.store)
    assert found.failures == ()
    assert (killed.run.status, killed.run.answer) == ("answered", "forty-two")
    assert (await claim(scene.store, "k")).answered == killed.run
    if name == "run.json":
        assert (killed.folder.path / "run.json.damaged").read_bytes() == content


async def test_a_run_that_had_ended_is_only_put_away(scene: Scene) -> None:
    killed = scene.killed("answer")
    await recover(scene.store)
    owner = killed.run.owner
    assert owner is not None
    before = killed.run
    scene.store.live.enter(killed.run_id, killed.folder.path, owner, scene.store.root)
    assert await recover(scene.store) == Recovered()
    assert killed.run == before
    assert list(scene.store.live.entries()) == []


async def test_what_cannot_be_recovered_is_told_and_hides_nothing_else(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = scene.killed("answer"), scene.killed("answer")
    real = type(bad.folder).finish

    def full(folder: Any, record: RunRecord) -> None:
        if folder.run_id == bad.run_id:
            raise OSError(28, "No space left on device")
        real(folder, record)

    with monkeypatch.context() as patch:
        patch.setattr(type(bad.folder), "finish", full)
        found = await recover(scene.store)
    assert len(found.failures) == 1
    assert bad.run_id in found.failures[0]
    assert "No space left" in found.sentence()
    assert good.run.status == "answered"
    assert not bad.run.ended
    await recover(scene.store)
    assert bad.run.status == "answered"


async def test_a_cancel_ends_the_agent_first(scene: Scene) -> None:
    killed = scene.killed("tool")
    recovery = asyncio.create_task(recover(scene.store))
    while not list(scene.store.live.folder.glob("*.lock")):
        await asyncio.sleep(0)
    recovery.cancel()
    with pytest.raises(asyncio.CancelledError):
        await recovery
    await recover(scene.store)
    assert scene.living(killed.run_id) == []
    assert killed.run.kind is FailureKind.INTERRUPTED


async def test_the_place_of_records_may_change_before_the_recovery(scene: Scene) -> None:
    killed = scene.killed("answer")
    elsewhere = RunStore(scene.root / "new", home=scene.root / "home")
    found = await recover(elsewhere)
    assert [one.run.run_id for one in found.runs] == [killed.run_id]
    assert killed.run.status == "answered"
