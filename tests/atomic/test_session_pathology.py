"""Kinds of public bugs of tools that run agents, each with a session that would show it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from atomic.failures import FailureKind
from atomic.policy.facts import Limits
from atomic.processes import identify, is_alive, signal_process
from atomic.session import run_attempt
from atomic.verdict.facts import Status, StopReason
from tests.agents import Place, answer, closing, left_of, message, opening, say, tool_start

MIB = 1 << 20


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


async def number(path: Path) -> int:
    """The number that a script writes there, once it has."""
    while not path.exists() or not path.read_text().endswith("\n"):
        await asyncio.sleep(0.005)
    return int(path.read_text())


async def test_a_flood_on_stderr_does_not_block_the_agent(place: Place) -> None:
    record = await place.run("head -c 3000000 /dev/zero | tr '\\0' 'e' >&2\n" + answer("after the flood"))
    assert record.verdict is not None
    assert record.verdict.answer == "after the flood"
    assert (place.path(record) / "stderr.txt").stat().st_size == 3_000_000


async def test_a_large_prompt_and_a_full_stdout_do_not_block_each_other(place: Place) -> None:
    # Output first, far more than a pipe holds; then the prompt is read.
    noise = "head -c 3000000 /dev/zero | tr '\\0' 'n'; echo\n"
    prompt = b"p" * (4 * MIB)
    record = await place.run(noise + "wc -c > counted\n" + answer(), prompt=prompt)
    assert record.status is Status.ANSWERED
    assert int((place.work / "counted").read_text()) == len(prompt)


async def test_stdin_is_never_inherited(place: Place) -> None:
    code = (
        "import asyncio, sys; from pathlib import Path; from tests.agents import Place, answer\n"
        "place = Place(Path(sys.argv[1]))\n"
        "record = asyncio.run(place.run('cat > prompt\\n' + answer()))\n"
        "print(record.status, (place.work / 'prompt').read_bytes())"
    )
    # Its own stdin is a pipe that nobody writes to or closes: an agent that inherited it would wait for ever.
    runner = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", code, str(place.folder / "inner")),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert runner.stdout is not None
    assert await runner.stdout.read() == b"answered b'hello'\n"
    await runner.wait()


@pytest.mark.parametrize("size", [128 * 1024, 2 * MIB])
async def test_a_prompt_of_any_size_is_no_argument(place: Place, size: int) -> None:
    record = await place.run("wc -c > counted\n" + answer(), prompt=b"-" * size)
    assert record.status is Status.ANSWERED
    assert int((place.work / "counted").read_text()) == size


@pytest.mark.parametrize("prompt", [b"-p --help", b"@/etc/passwd", b"/quit", b"\xff\xfe\0not text"])
async def test_a_prompt_is_what_it_is_whatever_it_begins_with(place: Place, prompt: bytes) -> None:
    await place.run("cat > prompt\n" + answer(), prompt=prompt)
    assert (place.work / "prompt").read_bytes() == prompt


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


@pytest.mark.parametrize("how", ["", "setsid ", "env -i "])
async def test_a_grandchild_that_holds_the_output_open_does_not_hold_the_session(place: Place, how: str) -> None:
    spec = place.spec(f"{how}sleep 1000 &\necho $! > tool\n" + answer("it ended all the same"))
    record = await run_attempt(spec)
    assert record.verdict is not None
    assert record.verdict.answer == "it ended all the same"
    assert record.exit_code == 0
    assert left_of(spec, await number(place.work / "tool")) == []


async def test_what_a_grandchild_writes_late_does_not_spoil_the_answer(place: Place) -> None:
    script = "(trap '' TERM HUP; while :; do echo late; done) &\n" + answer()
    record = await place.run(script)
    assert record.status is Status.ANSWERED
    assert record.stream is not None
    assert record.stream.bytes == len(place.stream(record))


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


@pytest.fixture
def no_child_left() -> Iterator[None]:
    yield
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.mark.usefixtures("no_child_left")
async def test_no_zombie_is_left(place: Place) -> None:
    for script in (answer(), "exit 3", "kill -9 $$", "sleep 1000 &\n" + answer()):
        await place.run(script)


async def test_orphans_that_this_process_inherits_are_reaped(place: Place) -> None:
    # The first process of a container inherits every orphan; so does one that asks for it.
    code = (
        "import asyncio, ctypes, os, sys; from pathlib import Path; from tests.agents import Place, answer\n"
        "assert ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0\n"  # PR_SET_CHILD_SUBREAPER
        "place = Place(Path(sys.argv[1]))\n"
        "script = 'setsid sleep 1000 &\\n(sleep 1000 &)\\n' + answer()\n"
        "record = asyncio.run(place.run(script))\n"
        "try:\n    left = os.waitpid(-1, os.WNOHANG)\n"
        "except ChildProcessError:\n    left = 'none'\n"
        "print(record.status, left)"
    )
    runner = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", code, str(place.folder / "inner")),
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert runner.stdout is not None
    assert await runner.stdout.read() == b"answered none\n"
    await runner.wait()


async def test_an_agent_that_still_writes_after_its_answer_is_not_cut_off(place: Place) -> None:
    late = say({"type": "session_info_changed", "name": "written late"})
    record = await place.run(answer() + "sleep 0.4\n" + late + "echo written > late\n", limits=Limits(settle=5))
    assert record.exit_code == 0
    assert record.verdict is not None
    assert record.verdict.stopped is None
    assert b"written late" in place.stream(record)
    assert (place.work / "late").exists()


async def test_the_last_message_is_kept_that_an_agent_writes_when_it_is_asked_to_end(place: Place) -> None:
    script = f"last() {{\n{say(message('at last'))}exit 143\n}}\ntrap last TERM\n"
    record = await place.run(
        say(*opening()) + script + "while :; do sleep 0.02; done\n", limits=Limits(total=0.3), grace=5.0
    )
    assert record.kind is FailureKind.TIMEOUT
    assert b"at last" in place.stream(record)
    assert record.exit_code == 143


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
