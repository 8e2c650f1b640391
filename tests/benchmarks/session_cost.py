"""What a session costs beyond its process: against a bare ``asyncio.create_subprocess_exec`` of the same program with
stdout to a file and the same child watcher, taking turns; the least of several rounds counts.

    python -m tests.benchmarks.session_cost [--quick] [--folder FOLDER]

ext4 takes several times as long to make a file while files removed in the last minutes are still about, whoever removed
them. A folder in memory (/dev/shm) shows what is the session's own.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from atomic.record import RunStore
from atomic.session import run_attempt
from atomic.verdict.facts import Status
from tests.benchmarks.agents import agent, build, spec
from tests.benchmarks.report import Row, report

AT_ONCE = 8
SESSIONS, ROUNDS = 200, 7
QUICK_SESSIONS, QUICK_ROUNDS = 100, 3
SLOW_SECONDS = 0.3  # still much less than any real session
SLOW_SESSIONS = 40

INSTANT_TARGET = 2.5
SLOW_TARGET = 1.05

Session = Callable[[], Awaitable[None]]


class Bench:
    """The subjects. Records are not deleted between rounds: it would slow the file system for whoever comes next."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.program = build(folder)
        self.outputs = 0
        home = folder / "home"
        self.stores = {fsync: RunStore(folder / f"records-{fsync}", home=home, fsync=fsync) for fsync in (False, True)}

    def bare(self, seconds: float) -> Session:
        """Nothing but the process."""
        self.outputs += 1
        path = self.folder / f"bare-{self.outputs}"
        env = {**os.environ, "BENCH_SECONDS": str(seconds)}

        async def session() -> None:
            with path.open("wb") as stdout:
                process = await asyncio.create_subprocess_exec(
                    self.program, stdin=asyncio.subprocess.DEVNULL, stdout=stdout, env=env
                )
            await process.wait()

        return session

    def whole(self, seconds: float, *, fsync: bool) -> Session:
        """A session with its record, watched and swept."""
        given = spec(self.stores[fsync], agent(self.program, BENCH_SECONDS=seconds), self.folder)

        async def session() -> None:
            record = await run_attempt(given)
            assert record.status is Status.ANSWERED, record.message

        return session


async def seconds_each(sessions: list[Session]) -> tuple[float, float]:
    """Seconds, and seconds of this process's CPU, that each of the sessions took, so many at once."""
    free = asyncio.Semaphore(AT_ONCE)

    async def one(session: Session) -> None:
        async with free:
            await session()

    start, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*map(one, sessions))
    return (time.perf_counter() - start) / len(sessions), (time.process_time() - cpu) / len(sessions)


async def measure(sessions: int, rounds: int, place: Path | None) -> list[Row]:
    """The figures. ``place``: where the records are made; None: where temporary files are."""
    _share_the_child_watcher()
    with tempfile.TemporaryDirectory(dir=place) as folder:
        bench = Bench(Path(folder))
        slow = min(SLOW_SESSIONS, sessions)
        subjects: dict[str, tuple[int, Callable[[], Session]]] = {
            "bare": (sessions, lambda: bench.bare(0)),
            "whole": (sessions, lambda: bench.whole(0, fsync=False)),
            "fsync": (sessions, lambda: bench.whole(0, fsync=True)),
            "bare slow": (slow, lambda: bench.bare(SLOW_SECONDS)),
            "whole slow": (slow, lambda: bench.whole(SLOW_SECONDS, fsync=True)),
        }
        least = dict.fromkeys(subjects, (float("inf"), float("inf")))
        for _ in range(rounds):
            for name, (count, make) in subjects.items():
                took, used = await seconds_each([make() for _ in range(count)])
                least[name] = min(least[name][0], took), min(least[name][1], used)
    wall = {name: figures[0] for name, figures in least.items()}
    return [
        Row("instant agent, fsync off / bare", wall["whole"] / wall["bare"], "×", INSTANT_TARGET),
        Row(f"agent of {SLOW_SECONDS} s, fsync on / bare", wall["whole slow"] / wall["bare slow"], "×", SLOW_TARGET),
        Row("instant agent, fsync on / fsync off", wall["fsync"] / wall["whole"], "×"),
        Row("bare, a session", wall["bare"] * 1000, "ms"),
        Row("fsync off, a session", wall["whole"] * 1000, "ms"),
        Row("fsync on, a session", wall["fsync"] * 1000, "ms"),
        Row("bare, CPU of the parent", least["bare"][1] * 1000, "ms"),
        Row("fsync off, CPU of the parent", least["whole"][1] * 1000, "ms"),
    ]


def _share_the_child_watcher() -> None:
    """A session hears of its child's end by pidfd. Python below 3.12 gives asyncio's own children a thread each."""
    if sys.version_info < (3, 12) and hasattr(os, "pidfd_open"):
        watcher = asyncio.PidfdChildWatcher()
        watcher.attach_loop(asyncio.get_running_loop())
        asyncio.set_child_watcher(watcher)


def main() -> int:
    """Measure. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROUNDS} rounds of {QUICK_SESSIONS} sessions")
    parser.add_argument("--folder", type=Path, help="where the records are made")
    given = parser.parse_args()
    sessions, rounds = (QUICK_SESSIONS, QUICK_ROUNDS) if given.quick else (SESSIONS, ROUNDS)
    return report(f"{sessions} sessions, {AT_ONCE} at once", asyncio.run(measure(sessions, rounds, given.folder)))


if __name__ == "__main__":
    sys.exit(main())
