"""Processes: that none is taken for another, that all of an attempt are found, and that they end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atomic.processes import (
    MARKER,
    Child,
    Kin,
    ProcessId,
    Steady,
    boot_id,
    descendants,
    find,
    identify,
    is_alive,
    marked,
    own_id,
    portable,
    proc,
    signal_process,
    stop,
    sweep,
)
from atomic.processes.kin import with_descendants
from atomic.processes.proc import Process

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a shell script; whatever it leaves is ended after the test."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(script: str, *, marker: str | None = None) -> subprocess.Popen[bytes]:
        env = {**os.environ, **({MARKER: marker} if marker else {})}
        process = subprocess.Popen(
            ["/bin/sh", "-c", script], env=env, stdout=subprocess.PIPE, start_new_session=True, bufsize=0
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        left = [row for row in proc.processes().values() if row.session == process.pid] if proc.AVAILABLE else []
        for each in {*descendants(process.pid), *(ProcessId(row.pid, row.start_time) for row in left)}:
            signal_process(each, signal.SIGKILL)
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def line(process: subprocess.Popen[bytes]) -> str:
    """The next line that it prints."""
    assert process.stdout is not None
    text = b""
    while not text.endswith(b"\n"):
        byte = process.stdout.read(1)
        assert byte, "it ended without a word"
        text += byte
    return text.decode().strip()


def until(done: Callable[[], bool]) -> None:
    while not done():
        time.sleep(0.005)


def started_as(process: subprocess.Popen[bytes]) -> ProcessId:
    found = identify(process.pid)
    assert found is not None
    return found


class TestIdentity:
    def test_this_process_is_alive(self) -> None:
        assert is_alive(own_id())
        assert own_id().pid == os.getpid()

    def test_a_number_given_to_another_process_is_not_the_same_process(self, start: Start) -> None:
        now = started_as(start("exec sleep 1000"))
        before = ProcessId(now.pid, now.start_time - 1)
        assert is_alive(now)
        assert not is_alive(before)
        assert not signal_process(before, signal.SIGKILL)
        assert is_alive(now)

    def test_a_zombie_is_not_alive(self, start: Start) -> None:
        process = start("exit 0")
        zombie = started_as(process)
        until(lambda: not is_alive(zombie))
        assert identify(process.pid) == zombie

    def test_a_name_with_parentheses_and_blanks_does_not_shift_the_fields(self, tmp_path: Path, start: Start) -> None:
        odd = tmp_path / "a) Z (b"
        odd.symlink_to("/bin/sleep")
        process = start(f"exec '{odd}' 1000")
        found = started_as(process)
        until(lambda: "a)" in Path(f"/proc/{process.pid}/stat").read_text() if proc.AVAILABLE else True)
        assert identify(process.pid) == found
        assert is_alive(found)

    def test_a_boot_has_one_name(self) -> None:
        assert boot_id()
        assert boot_id() == boot_id()

    @pytest.mark.parametrize("system", [proc, portable] if proc.AVAILABLE else [portable])
    def test_both_ways_to_read_the_table_see_the_same(self, system: object, start: Start) -> None:
        process = start("sleep 1000 & echo $!; wait", marker="run/1")
        child = int(line(process))
        for module in (proc, portable) if proc.AVAILABLE else (portable,):
            table = module.processes()
            assert table[child].parent == process.pid
            assert table[child].session == process.pid
            assert not table[child].zombie
            assert f"\0{MARKER}=run/1\0".encode() in b"\0" + (module.environment(child) or b"")
            assert module.look(child) == table[child]
            assert module.look(2**22 + 1) is None

    def test_older_processes_are_left_out_and_younger_ones_never(self, start: Start) -> None:
        first = started_as(start("exec sleep 1000"))
        for _ in range(3):  # the second look uses what the first one learnt
            assert first.pid not in proc.processes(first.start_time + 1)
            assert first.pid in proc.processes(first.start_time)


class TestFinding:
    def test_descendants_are_found_at_any_depth(self, start: Start) -> None:
        process = start("sh -c 'sleep 1000 & echo $!; wait' & wait")
        deepest = int(line(process))
        assert deepest in {each.pid for each in descendants(process.pid)}

    def test_a_marker_that_begins_with_another_is_another(self, start: Start) -> None:
        one, eleven = start("exec sleep 1000", marker="run/1"), start("exec sleep 1000", marker="run/11")
        found = marked(["run/1", "run/11", "run/2"])
        while not found["run/1"] or not found["run/11"]:  # they are there before they are the programs they become
            found = marked(["run/1", "run/11", "run/2"])
        assert [each.pid for each in found["run/1"]] == [one.pid]
        assert [each.pid for each in found["run/11"]] == [eleven.pid]
        assert found["run/2"] == []

    async def test_one_that_left_its_parent_and_session_is_found_by_its_marker(self, start: Start) -> None:
        process = start("setsid sh -c 'sleep 1000 & echo $!' & wait", marker="run/1")
        orphan = int(line(process))
        process.wait()
        found = await find(Kin("run/1"))
        assert [row.pid for row in found.members] == [orphan]
        await sweep(Kin("run/1"), Steady())

    async def test_one_that_cleared_its_environment_is_found_when_it_was_seen_before(self, start: Start) -> None:
        process = start("env -i setsid sleep 1000 & echo $!; wait", marker="run/1")
        cleared = int(line(process))
        until(lambda: cleared not in {each.pid for each in marked(["run/1"])["run/1"]})
        leader = started_as(process)
        kin = Kin("run/1", since=leader.start_time, seen=frozenset((leader,)))
        assert cleared in {row.pid for row in (await find(kin)).members}
        process.kill()
        process.wait()
        assert [row.pid for row in (await find(kin)).members] == [cleared]
        assert (await sweep(kin, Steady())).survived == ()
        assert identify(cleared) is None or not is_alive(identify(cleared) or own_id())

    async def test_one_in_the_agents_session_is_found_without_marker_or_parent(self, start: Start) -> None:
        process = start("env -i sh -c 'sleep 1000 & echo $!'; exec sleep 1000")
        orphan = int(line(process))
        until(lambda: (row := proc.look(orphan)) is not None and row.parent != process.pid)
        kin = Kin("run/1", since=started_as(process).start_time, leader=process.pid)
        assert orphan in {row.pid for row in (await find(kin)).members}

    async def test_looks_asked_for_together_share_one_scan(self, monkeypatch: pytest.MonkeyPatch) -> None:
        scans = []
        monkeypatch.setattr(
            "atomic.processes.kin.SYSTEM.processes",
            lambda since: scans.append(since) or {},  # type: ignore[func-returns-value]
        )
        await asyncio.gather(*(find(Kin(f"run/{n}", since=n)) for n in range(1, 9)))
        assert scans == [1]

    async def test_without_descriptors_it_says_so_instead_of_finding_nothing(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(since: float) -> dict[int, Process]:
            raise OSError(24, "Too many open files")

        monkeypatch.setattr("atomic.processes.kin.SYSTEM.processes", refuse)
        with pytest.raises(OSError, match="Too many open files"):
            await find(Kin("run/1"))

    async def test_this_process_and_those_above_it_are_never_members(self) -> None:
        own = own_id()
        kin = Kin("run/1", seen=frozenset((own,)))
        assert own.pid not in {row.pid for row in (await find(kin)).members}

    @given(st.lists(st.tuples(st.integers(1, 12), st.integers(0, 12)), max_size=20), st.sets(st.integers(1, 12)))
    def test_a_family_is_closed_and_no_larger_than_it_must_be(
        self, rows: list[tuple[int, int]], first: set[int]
    ) -> None:
        table = {pid: Process(pid, 0.0, parent, 0, False) for pid, parent in rows}
        family = with_descendants(table, first)
        assert first & set(table) <= family <= set(table)
        assert all(pid in family for pid, row in table.items() if row.parent in family)
        assert all(pid in first or table[pid].parent in family for pid in family)


class TestEnding:
    async def test_a_stranger_is_asked_first(self, start: Start) -> None:
        process = start("trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done")
        line(process)
        assert await stop(started_as(process), Steady())
        assert process.wait() == 7

    async def test_a_stranger_that_does_not_listen_is_killed(self, start: Start) -> None:
        process = start("trap '' TERM; echo ready; while :; do sleep 0.01; done")
        line(process)
        assert await stop(started_as(process), Steady(), grace=0.05)
        assert process.wait() == -signal.SIGKILL

    async def test_a_sweep_ends_what_forks_while_it_is_swept(self, start: Start) -> None:
        process = start(
            "n=0; while [ $n -lt 20 ]; do setsid sh -c 'sleep 0.01; sleep 1000 & sleep 1000' & n=$((n+1)); done;"
            "echo ready; wait",
            marker="run/1",
        )
        line(process)
        swept = await sweep(Kin("run/1"), Steady())
        assert swept.survived == ()
        assert len(swept.ended) >= 20
        assert marked(["run/1"])["run/1"] == []

    async def test_a_sweep_waits_for_one_that_is_becoming_another_program(self, start: Start) -> None:
        # Again and again it is for a moment without an environment, and nothing else leads to it.
        script = 'n=$1; [ $n -gt 0 ] && exec /bin/sh -c "$0" "$0" $((n-1)); exec sleep 1000'
        for _ in range(20):
            spinning = subprocess.Popen(
                ["/bin/sh", "-c", script, script, "60"], env={**os.environ, MARKER: "run/1"}, start_new_session=True
            )
            try:
                swept = await sweep(Kin("run/1"), Steady())
                assert [each.pid for each in swept.ended] == [spinning.pid]
                assert swept.survived == ()
            finally:
                spinning.kill()
                spinning.wait()

    async def test_one_without_any_environment_holds_no_sweep_up(self, start: Start) -> None:
        process = start("exec env -i sleep 1000")
        until(lambda: proc.environment(process.pid) == b"" if proc.AVAILABLE else True)
        assert await sweep(Kin("run/1"), Steady()) == ((), (), ())

    async def test_a_build_daemon_may_stay_with_all_below_it(self, tmp_path: Path, start: Start) -> None:
        daemon = tmp_path / "a-build-daemon-with-a-long-name"
        daemon.symlink_to(Path(sys.executable).resolve())
        code = "import subprocess; print(subprocess.Popen(['sleep', '1000']).pid, flush=True); input()"
        process = start(f"'{daemon}' -c \"{code}\" < /dev/zero & sleep 1000 & wait", marker="run/1")
        worker = int(line(process))
        swept = await sweep(Kin("run/1"), Steady(), may_stay=[daemon.name])
        assert worker in {each.pid for each in swept.stayed}
        assert len(swept.stayed) == 2
        assert {each.pid for each in marked(["run/1"])["run/1"]} == {each.pid for each in swept.stayed}
        await sweep(Kin("run/1"), Steady())

    async def test_a_sweep_goes_on_through_cancels(self, start: Start) -> None:
        start("exec sleep 1000", marker="run/1")
        steady = Steady()
        task = asyncio.create_task(sweep(Kin("run/1"), steady))
        await asyncio.sleep(0)
        while not task.done():
            task.cancel()
            await asyncio.sleep(0)
        assert task.result().ended
        assert steady.cancelled
        assert marked(["run/1"])["run/1"] == []


class TestChild:
    def begin(self, *argv: str, cwd: Path = Path("/")) -> Child:
        null = os.open(os.devnull, os.O_RDWR)
        try:
            return Child(argv, env=dict(os.environ), cwd=cwd, stdin=null, stdout=null, stderr=null)
        finally:
            os.close(null)

    @pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", -9), ("kill $$", -15)])
    async def test_its_end_is_told(self, script: str, code: int) -> None:
        child = self.begin("/bin/sh", "-c", script)
        assert await child.exited == code
        child.reap()

    async def test_its_number_is_its_own_until_it_is_reaped(self) -> None:
        child = self.begin("/bin/true")
        await child.exited
        assert identify(child.pid) == child.id
        child.reap()
        assert identify(child.pid) != child.id

    @pytest.mark.parametrize("missing", ["pidfd_open", "waitid"])
    async def test_its_end_is_told_where_the_system_has_less(
        self, missing: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delattr(os, "pidfd_open")
        monkeypatch.delattr(os, missing, raising=False)
        child = self.begin("/bin/sh", "-c", "sleep 0.05; exit 3")
        assert await child.exited == 3
        child.reap()

    async def test_one_that_somebody_else_reaped_has_no_exit_code(self) -> None:
        child = self.begin("/bin/true")
        os.waitpid(child.pid, 0)
        assert await child.exited is None
        child.reap()

    async def test_it_is_asked_before_it_is_killed(self, tmp_path: Path) -> None:
        ready = tmp_path / "ready"
        child = self.begin("/bin/sh", "-c", f"trap '' TERM; touch {ready}; while :; do sleep 0.01; done")
        until(ready.exists)
        assert await child.stop(Steady(), grace=0.05)
        assert child.exited.result() == -signal.SIGKILL
        child.reap()

    async def test_it_leads_its_own_session(self) -> None:
        child = self.begin("/bin/sleep", "1000")
        assert os.getsid(child.pid) == child.pid
        await child.stop(Steady())
        child.reap()

    async def test_what_cannot_be_started_raises(self, tmp_path: Path) -> None:
        plain = tmp_path / "plain"
        plain.write_text("no program")
        plain.chmod(0o755)
        for argv, kind in [
            (("/no/such/program",), FileNotFoundError),
            ((str(tmp_path),), PermissionError),
            ((str(plain),), OSError),
            (("/bin/echo", "x" * 200_000), OSError),
            (("/bin/echo", "\0"), ValueError),
        ]:
            with pytest.raises(kind):
                self.begin(*argv)
        with pytest.raises(FileNotFoundError):
            self.begin("/bin/true", cwd=tmp_path / "gone")
