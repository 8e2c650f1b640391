"""A large batch: its rate on an instant agent, its memory, and how long a second start takes that finds nothing to do.

    python -m tests.benchmarks.batch_scale [--items N] [--quick] [--direct] [--folder FOLDER]

The batch runs in a process of its own, through Prefect with ``track=shard`` unless ``--direct``; its memory is the most
that this process ever held, and by how much it grew after the first fifth of the items. How it stands is told on stderr
ten times.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from flows.server import choose, stop_server
from tests.benchmarks.agents import build
from tests.benchmarks.report import Row, report

ITEMS, QUICK_ITEMS = 100_000, 2_000
AT_ONCE = 8
MEMORY_TARGET = 400.0  # MB
RESUME_TARGET = 5.0  # seconds
GROWTH_TARGET = 30.0  # MB, however many items there are

RUN = """
import asyncio, json, sys, time
import psutil
from tests.benchmarks.memory import peak
given = json.loads(sys.argv[1])
direct, source, items = given.pop("direct"), given.pop("input"), given.pop("items")
held = []

def hear(event):
    done = getattr(event, "done", 0)
    if done >= items * (len(held) + 1) / 10:
        held.append(psutil.Process().memory_info().rss / 1e6)
        rate = done / (time.perf_counter() - begun)
        print(f"{done:,} items, {rate:.1f} a second, {held[-1]:.1f} MB", file=sys.stderr, flush=True)

begun = time.perf_counter()
if direct:
    from flows.batch import BatchRun, prepare_batch
    result = asyncio.run(BatchRun(prepare_batch(source, **given), hear).to_its_end())
else:
    from flows.batch import run_batch
    begun = time.perf_counter()  # without what importing Prefect takes
    result = asyncio.run(run_batch(source, on_event=hear, **given))
seconds = time.perf_counter() - begun
most = peak() / 1e6
figures = {"seconds": seconds, "most": most, "growth": most - held[1] if len(held) > 2 else 0}
print(json.dumps({**figures, "answered": result.answered, "ran": result.ran}))
"""


def start(given: dict[str, Any]) -> dict[str, float]:
    """Carry the batch out in a process of its own. What it measured."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(given)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env={**os.environ, "PREFECT_LOGGING_LEVEL": "ERROR"},
    )
    if done.returncode:
        raise RuntimeError("the batch broke off")
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def asked(items: int, program: Path, folder: Path, *, track: str = "shard", direct: bool = False) -> dict[str, Any]:
    """Write an input and say how it is to be carried out."""
    source = folder / f"items-{track}.jsonl"
    with source.open("w") as file:
        for n in range(items):
            file.write(json.dumps({"custom_id": f"item-{n}", "prompt": f"Say something about the number {n}."}) + "\n")
    return {
        "input": str(source),
        "items": items,
        "agent": shlex.quote(str(program)),
        "models": ["bench/instant"],
        "cwd": str(folder),
        "concurrency": AT_ONCE,
        "track": track,
        "direct": direct,
    }


def environment(folder: Path) -> dict[str, str]:
    """What a batch of a benchmark needs of the environment."""
    home = str(folder / "home")
    return {"ATOMIC_FLOWS_HOME": home, "ATOMIC_FLOWS_SHARED": "true", "ATOMIC_FLOWS_RECORD__FSYNC": "false"}


def measure(items: int, *, direct: bool, folder: Path) -> list[Row]:
    """The figures."""
    given = asked(items, build(folder), folder, direct=direct)
    first, second = start(given), start(given)
    assert (first["answered"], second["answered"], second["ran"]) == (items, items, 0), (first, second)
    return [
        Row("items a second", items / first["seconds"], ""),
        Row("most memory of the first start", first["most"], "MB", MEMORY_TARGET),
        Row("its growth after the first fifth", first["growth"], "MB", GROWTH_TARGET),
        Row("a second start that finds nothing to do", second["seconds"], "s", RESUME_TARGET),
        Row("most memory of the second start", second["most"], "MB", MEMORY_TARGET),
    ]


def main() -> int:
    """Measure. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ITEMS} items")
    parser.add_argument("--direct", action="store_true", help="without Prefect")
    parser.add_argument("--folder", type=Path, help="where everything is written, and left; default: a temporary one")
    options = parser.parse_args()
    items = options.items or (QUICK_ITEMS if options.quick else ITEMS)
    with contextlib.ExitStack() as ends:
        folder = options.folder or Path(ends.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        os.environ |= environment(folder)
        if not options.direct:
            os.environ["PREFECT_HOME"] = str(folder / "client")
            os.environ["PREFECT_API_URL"] = choose("local", home=folder / "home").url
        try:
            rows = measure(items, direct=options.direct, folder=folder)
        finally:
            if not options.direct:
                stop_server(folder / "home")
    through = "without Prefect" if options.direct else "as shard flows"
    return report(f"{items:,} items, {AT_ONCE} at once, {through}", rows)


if __name__ == "__main__":
    sys.exit(main())
