"""How late an event loop is while it watches 32 live sessions, each writing updates and telling its progress.

python -m tests.benchmarks.live_sessions [--quick]
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from atomic.record import RunStore
from atomic.session import run_attempt
from tests.benchmarks.agents import agent, build, spec
from tests.benchmarks.report import Row, report

SESSIONS = 32
RATE = 50  # updates a second: a fast model
SECONDS, QUICK_SECONDS = 20.0, 4.0
PROBE = 0.005  # seconds between two looks at the loop's lateness
TARGET = 25.0  # milliseconds


async def lateness(until: asyncio.Event) -> list[float]:
    """How much later than asked for the loop came round, each time, in milliseconds."""
    loop = asyncio.get_running_loop()
    late = []
    while not until.is_set():
        due = loop.time() + PROBE
        await asyncio.sleep(PROBE)
        late.append((loop.time() - due) * 1000)
    return sorted(late)


async def measure(seconds: float) -> list[Row]:
    """The figures."""
    over = asyncio.Event()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        quiet = asyncio.Event()
        probe = asyncio.create_task(lateness(quiet))
        await asyncio.sleep(min(seconds, 2))
        quiet.set()
        idle = await probe
        program = build(folder)
        instant = agent(program, BENCH_SECONDS=seconds, BENCH_RATE=RATE)
        store = RunStore(folder / "records", home=folder / "home")
        specs = [spec(store, instant, folder) for _ in range(SESSIONS)]
        told: list[object] = []
        cpu, start = time.process_time(), time.perf_counter()
        probe = asyncio.create_task(lateness(over))
        await asyncio.gather(*(run_attempt(each, on_progress=told.append) for each in specs))
        used = (time.process_time() - cpu) / (time.perf_counter() - start)
        over.set()
        late = await probe
    return [
        Row("lateness, 99th percentile", late[len(late) * 99 // 100], "ms", TARGET),
        Row("lateness, median", late[len(late) // 2], "ms"),
        Row("lateness, worst", late[-1], "ms"),
        Row("lateness of an idle loop, 99th percentile", idle[len(idle) * 99 // 100], "ms"),
        Row("CPU of the parent", used * 100, "%"),
        Row("tellings of progress, a second", len(told) / seconds, "/s"),
    ]


def main() -> int:
    """Measure. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"for {QUICK_SECONDS:.0f} seconds")
    seconds = QUICK_SECONDS if parser.parse_args().quick else SECONDS
    return report(f"{SESSIONS} live sessions for {seconds:.0f} s", asyncio.run(measure(seconds)))


if __name__ == "__main__":
    sys.exit(main())
