"""CPU of reading a finished stream, against a bare ``os.read`` loop over the same cached file, and against what one
would write first: asyncio's readline and this package's own pydantic models for each line.

    python -m tests.benchmarks.following [--quick]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from atomic.events import parse_event
from atomic.framing import Follower, Framer, decode, read_records
from tests.benchmarks import streams
from tests.benchmarks.report import Row, least_cpu, report

BARE_CHUNK = 64 * 1024
FULL, QUICK = 10**9, 64 * 10**6  # bytes
NAIVE_SIZE = 16 * 10**6  # bytes: the naive way is so slow that it gets a small stream of the same shape
NAIVE_ROUNDS = 2

# Shape, CPU at most so many times the bare loop's, and so many times less than the naive way's.
SHAPES: list[tuple[str, Callable[[Path, int], Path], float, float]] = [
    ("cumulative", streams.cumulative, 1.6, 8),
    ("today's", streams.today, 4, 30),
    ("delta-only", streams.delta_only, 8, 30),
]


def bare(path: Path) -> None:
    """Nothing but reading."""
    file = os.open(path, os.O_RDONLY)
    try:
        while os.read(file, BARE_CHUNK):
            pass
    finally:
        os.close(file)


def read(path: Path) -> None:
    """As finished streams are read."""
    for _ in read_records(path):
        pass


def follow(path: Path) -> None:
    """As live ones are followed."""
    with Follower(path, Framer()) as follower:
        follower.poll()
        while follower.more:
            follower.poll()
        follower.end()


async def naive(path: Path) -> None:
    """What one would write first, with a limit that lets it live."""
    process = await asyncio.create_subprocess_exec("cat", str(path), stdout=asyncio.subprocess.PIPE, limit=2**30)
    assert process.stdout is not None
    while line := await process.stdout.readline():
        parse_event(decode(line))
    await process.wait()


def main() -> int:
    """Measure all shapes. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"streams of {QUICK // 10**6} MB")
    size = QUICK if parser.parse_args().quick else FULL
    code = 0
    for shape, make, at_most, times_less in SHAPES:
        with tempfile.TemporaryDirectory() as folder:
            rows = measure(make, Path(folder), size, at_most, times_less)
        code |= report(f"{shape} stream of {size // 10**6} MB: CPU", rows)
    return code


def measure(make: Callable[[Path, int], Path], folder: Path, size: int, at_most: float, times_less: float) -> list[Row]:
    """The figures of one shape."""
    path = make(folder / "stream.jsonl", size)
    short = make(folder / "short.jsonl", NAIVE_SIZE)
    bare(path)
    cpu = least_cpu({"bare": lambda: bare(path), "read": lambda: read(path), "follow": lambda: follow(path)})
    slow = least_cpu({"naive": lambda: asyncio.run(naive(short))}, NAIVE_ROUNDS)
    per_byte = slow["naive"] / short.stat().st_size
    lines = path.read_bytes().count(b"\n") if size == QUICK else None
    rows = [
        Row("read_records / bare loop", cpu["read"] / cpu["bare"], "×", at_most),
        Row("Follower / bare loop", cpu["follow"] / cpu["bare"], "×", at_most),
        Row(
            "readline + pydantic / read_records",
            per_byte / (cpu["read"] / path.stat().st_size),
            "×",
            times_less,
            "at least",
        ),
        Row("bare loop, seconds a GB", cpu["bare"] / path.stat().st_size * 1e9, "s"),
    ]
    return rows if lines is None else [*rows, Row("bytes a line", path.stat().st_size / lines, "B")]


if __name__ == "__main__":
    sys.exit(main())
