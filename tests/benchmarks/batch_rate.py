"""What Prefect costs a batch, in ratios within one run and on one server: items as tasks against tasks that do nothing,
and items of which only the shards are tasks. The time until the server has written all down counts.

    python -m tests.benchmarks.batch_rate [--quick]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil

from flows.server import choose, stop_server
from tests.benchmarks.agents import build
from tests.benchmarks.batch_scale import AT_ONCE, asked, environment, start
from tests.benchmarks.report import Row, report

ITEMS, QUICK_ITEMS = 400, 100
LOOK = 0.1  # seconds between two looks at what the server has written down
PATIENCE = 300.0  # seconds for it
TRACKED_TARGET, SHARD_TARGET, SERVER_TARGET = 0.6, 5.0, 2.0

EMPTY = """
import asyncio, json, sys, time
from prefect import flow, task
from prefect.cache_policies import NO_CACHE
many, at_once = int(sys.argv[1]), int(sys.argv[2])

@task(cache_policy=NO_CACHE, persist_result=False)
async def nothing(n):
    pass

@flow(persist_result=False)
async def empty():
    free = asyncio.Semaphore(at_once)
    async def one(n):
        async with free:
            await nothing(n)
    await asyncio.gather(*map(one, range(many)))

begun = time.perf_counter()
asyncio.run(empty())
print(json.dumps({"seconds": time.perf_counter() - begun}))
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one of many cost: seconds, the server's settling included, and seconds of the server's CPU."""

    seconds: float
    server: float


def empty(many: int) -> float:
    """Carry out tasks that do nothing. Seconds, without what importing Prefect takes."""
    done = subprocess.run(
        [sys.executable, "-c", EMPTY, str(many), str(AT_ONCE)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=True,
        env={**os.environ, "PREFECT_LOGGING_LEVEL": "ERROR"},
    )
    return float(json.loads(done.stdout.splitlines()[-1])["seconds"])


class Server:
    """The server, while subjects are measured on it one after the other."""

    def __init__(self, url: str, pid: int) -> None:
        self._url = url
        self._process = psutil.Process(pid)

    def cost(self, subject: Callable[[], float], *, many: int, tasks: int) -> Cost:
        """What one of ``many`` cost; the subject makes so many task runs, and says how long it took."""
        before, used = self._ended(), self._used()
        seconds = subject()
        begun = time.perf_counter()
        while self._ended() < before + tasks:
            if time.perf_counter() - begun > PATIENCE:
                raise RuntimeError("the server has not written all down")
            time.sleep(LOOK)
        return Cost((seconds + time.perf_counter() - begun) / many, (self._used() - used) / many)

    def _ended(self) -> int:
        ended = {"task_runs": {"state": {"type": {"any_": ["COMPLETED"]}}}}
        return int(httpx.post(f"{self._url}/task_runs/count", json=ended, timeout=60, trust_env=False).json())

    def _used(self) -> float:
        times = self._process.cpu_times()
        return times.user + times.system


def measure(items: int, server: Server, folder: Path) -> list[Row]:
    """The figures."""
    program = build(folder)

    def batch(track: str) -> float:
        return start(asked(items, program, folder, track=track))["seconds"]

    nothing = server.cost(lambda: empty(items), many=items, tasks=items)
    tracked = server.cost(lambda: batch("session"), many=items, tasks=items)
    shard = server.cost(lambda: batch("shard"), many=items, tasks=1)
    return [
        Row("items as tasks / empty tasks, rate", nothing.seconds / tracked.seconds, "×", TRACKED_TARGET, "at least"),
        Row("items in shards / items as tasks, rate", tracked.seconds / shard.seconds, "×", SHARD_TARGET, "at least"),
        Row("items as tasks / empty tasks, server's CPU", tracked.server / nothing.server, "×", SERVER_TARGET),
        Row("empty tasks", 1 / nothing.seconds, "/s"),
        Row("items as tasks", 1 / tracked.seconds, "/s"),
        Row("items in shards", 1 / shard.seconds, "/s"),
        Row("server's CPU of an empty task", nothing.server * 1000, "ms"),
        Row("server's CPU of an item as task", tracked.server * 1000, "ms"),
        Row("server's CPU of an item in a shard", shard.server * 1000, "ms"),
    ]


def main() -> int:
    """Measure. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ITEMS} items")
    items = QUICK_ITEMS if parser.parse_args().quick else ITEMS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ |= {**environment(folder), "PREFECT_HOME": str(folder / "client")}
        chosen = choose("local", home=folder / "home")
        assert chosen.info is not None, "it is a server of ours"
        os.environ["PREFECT_API_URL"] = chosen.url
        try:
            rows = measure(items, Server(chosen.url, chosen.info.pid), folder)
        finally:
            stop_server(folder / "home")
    return report(f"{items} items, {AT_ONCE} at once", rows)


if __name__ == "__main__":
    sys.exit(main())
