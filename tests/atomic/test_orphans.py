"""Daemons that hide from whoever looks for them: no environment, a session of their own, no parent. They come to us."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from atomic.processes import adopting_orphans, identify, is_alive, signal_process
from atomic.session import run_attempt
from atomic.verdict.facts import Status
from tests.agents import Place, answer, opening, say
from tests.pathology.stage import number

# Nothing leads from it to its agent: it has no variables, the leader of its session is dead, and so is its parent.
DAEMON = "env -i setsid /bin/sh -c 'sleep 1000 & echo $! > tool'\n"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def lives(pid: int) -> bool:
    found = identify(pid)
    return found is not None and is_alive(found)


async def test_a_daemon_that_hides_ends_with_its_session_and_is_reaped(place: Place) -> None:
    with adopting_orphans():
        record = await place.run(DAEMON + answer())
        assert record.status is Status.ANSWERED
        assert identify(await number(place.work / "tool")) is None


async def test_one_that_two_sessions_may_have_started_ends_with_the_last_of_them(place: Place) -> None:
    waits = say(*opening()) + "while ! [ -e go ]; do sleep 0.02; done\n" + answer()
    with adopting_orphans():
        other = asyncio.create_task(run_attempt(place.spec("touch begun\n" + waits)))
        while not (place.work / "begun").exists():
            await asyncio.sleep(0.01)
        await place.run(DAEMON + answer())
        daemon = await number(place.work / "tool")
        assert lives(daemon), "it may be the other session's"
        later = await place.run(answer())
        assert later.status is Status.ANSWERED
        assert lives(daemon), "it began before the later session, and is none of its"
        (place.work / "go").touch()
        await other
        assert identify(daemon) is None


async def test_the_dead_do_not_pile_up_while_a_session_lasts(place: Place) -> None:
    script = "for n in 1 2 3 4 5 6 7 8; do env -i setsid /bin/sh -c 'true & :'; done\ntouch begun\n"
    before = set(psutil.Process().children())
    with adopting_orphans():
        spec = place.spec(say(*opening()) + script + "while ! [ -e go ]; do sleep 0.05; done\n" + answer())
        session = asyncio.create_task(run_attempt(spec))
        while not (place.work / "begun").exists():
            await asyncio.sleep(0.01)
        while len(set(psutil.Process().children()) - before) > 1:  # the agent itself
            assert not session.done()
            await asyncio.sleep(0.05)
        (place.work / "go").touch()
        await session


async def test_what_this_program_started_itself_is_left_alone(place: Place) -> None:
    own = place.folder / "own"
    with adopting_orphans():
        # An orphan of ours that is older than any agent, and a child that began while one ran.
        subprocess.run(["setsid", "/bin/sh", "-c", f"sleep 1000 & echo $! > '{own}'"], check=True)
        await asyncio.sleep(0.05)  # the system tells ages in hundredths of a second
        session = asyncio.create_task(run_attempt(place.spec("touch begun; sleep 0.2\n" + DAEMON + answer())))
        while not (place.work / "begun").exists():
            await asyncio.sleep(0.01)
        with subprocess.Popen(["sleep", "1000"]) as meanwhile:
            await session
            assert meanwhile.poll() is None
            meanwhile.kill()
        assert meanwhile.returncode == -signal.SIGKILL, "nobody reaped it in our place"
    left = identify(await number(own))
    assert left is not None
    signal_process(left, signal.SIGKILL)


async def test_it_stays_where_that_is_wanted(place: Place) -> None:
    with adopting_orphans():
        await place.run(place.agent(DAEMON + answer(), leftover="keep"))
        await place.run(answer())
    daemon = identify(await number(place.work / "tool"))
    assert daemon is not None
    assert is_alive(daemon)
    signal_process(daemon, signal.SIGKILL)


async def test_afterwards_orphans_go_where_they_always_went(place: Place) -> None:
    with adopting_orphans():
        pass
    await place.run(DAEMON + answer())
    daemon = identify(await number(place.work / "tool"))
    assert daemon is not None
    assert psutil.Process(daemon.pid).ppid() != os.getpid()
    signal_process(daemon, signal.SIGKILL)
