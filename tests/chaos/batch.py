"""A batch that is killed again and again: in the end every item is there once, and no answer was bought twice.

    python -m tests.chaos.batch [--items 300] [--kills 10] [--seed N]

The batch runs in a process of its own, which gets SIGKILL at random moments and is started again. The agent is the
scripted one, behind a script that notes every start.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from atomic.processes import MARKER, marked
from atomic.record import RunRecord, RunStore
from atomic.text import one_line

# Models of an item, in order; each of them comes often. The cooldown and the limits below keep it short.
BEHAVIOURS = (
    ("a/ok",),
    ("a/ok",),
    ("a/overflow", "b/ok"),
    ("a/rate-limit", "b/ok"),
    ("c/rate-limit-once",),
    ("a/crashed", "b/tool"),
    ("a/crashed",),
    ("a/overflow",),
    ("a/stalled", "b/ok"),
    ("a/sleep-tool", "b/ok"),
    ("a/leaves-child",),
    ("a/tool-overflow", "b/ok"),
)
ANSWERED = {models for models in BEHAVIOURS if models not in (("a/crashed",), ("a/overflow",))}
LIMITS = {"idle": 2, "tool": 2, "settle": 1}
EARLIEST, LATEST = 1.5, 7.0  # seconds after a start in which it is killed
LAST_LIMIT = 900.0  # seconds for the start that is not killed

RUN = """
import asyncio, json, sys
from flows.batch import BatchRun, prepare_batch
given = json.loads(sys.argv[1])
request = prepare_batch(given.pop("input"), **given)
result = asyncio.run(BatchRun(request).to_its_end())
print(json.dumps(result.to_json()))
"""


@dataclass
class Chaos:
    """A batch in a folder of its own."""

    folder: Path
    items: int
    rng: random.Random
    behaviours: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.home = self.folder / "home"
        self.starts = self.folder / "starts.txt"
        self.output = self.folder / "results"
        self.input = self.folder / "items.jsonl"
        work = self.folder / "work"
        work.mkdir(parents=True)
        agent = self.folder / "agent.sh"
        noted = f'echo "${MARKER}" >> {shlex.quote(str(self.starts))}'
        agent.write_text(f'#!/bin/sh\n{noted}\nexec {shlex.quote(sys.executable)} -m atomic.scripted "$@"\n')
        agent.chmod(0o755)
        lines = []
        for n in range(self.items):
            models = BEHAVIOURS[n % len(BEHAVIOURS)]
            self.behaviours[f"item-{n}"] = models
            lines.append(json.dumps({"custom_id": f"item-{n}", "prompt": f"prompt {n}", "models": models}))
        self.rng.shuffle(lines)
        self.input.write_text("".join(f"{line}\n" for line in lines))
        policy = {"limits": LIMITS, "cooldown": {"rate_limit": 1}}
        given = {
            "input": str(self.input),
            "name": "chaos",
            "output": str(self.output),
            "agent": shlex.quote(str(agent)),
        }
        self.given = {**given, "cwd": str(work), "policy": policy, "concurrency": 8, "stop_after": 0}

    def start(self) -> subprocess.Popen[bytes]:
        """The batch, from its beginning or from where it was killed."""
        return subprocess.Popen(
            [sys.executable, "-c", RUN, json.dumps(self.given)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={
                **os.environ,
                "ATOMIC_FLOWS_HOME": str(self.home),
                "ATOMIC_FLOWS_SHARED": "true",
                "PYTHONPATH": str(Path(__file__).parents[2]),
            },
        )

    def killed(self) -> bool:
        """Start it and kill it at a random moment. False where it had ended before."""
        process = self.start()
        time.sleep(self.rng.uniform(EARLIEST, LATEST))
        over = process.poll() is not None
        process.send_signal(signal.SIGKILL)
        _, said = process.communicate()
        assert not said.strip(), said.decode()
        return not over

    def to_its_end(self) -> dict[str, object]:
        """Start it and let it end. What it printed."""
        process = self.start()
        out, said = process.communicate(timeout=LAST_LIMIT)
        assert process.returncode == 0, said.decode()
        ended: dict[str, object] = json.loads(out)
        return ended

    def results(self) -> list[dict[str, object]]:
        """The lines of results.jsonl that are whole, each of which must be one item's. Raises AssertionError."""
        try:
            whole = (self.output / "results.jsonl").read_bytes().rpartition(b"\n")[0]
        except FileNotFoundError:
            return []
        lines = [json.loads(line) for line in whole.splitlines()]
        twice = [name for name, n in Counter(line["custom_id"] for line in lines).items() if n > 1]
        assert not twice, f"there twice: {twice}"
        return lines

    def runs(self) -> list[RunRecord]:
        """All runs on record, the oldest first."""
        return list(RunStore(self.home / "records", home=self.home).iter_runs())[::-1]

    def problems(self, ended: dict[str, object]) -> list[str]:
        """What is not as it should be when the batch has ended."""
        found = []
        results = {str(line["custom_id"]): line for line in self.results()}
        for name, models in self.behaviours.items():
            wanted = "answered" if models in ANSWERED else "failed"
            status = results.get(name, {}).get("status", "missing")
            if status != wanted:
                found.append(f"{name} ({', '.join(models)}) is {status}: {results.get(name, {}).get('message')}")
        if ended["left"] or ended["total"] != self.items or len(results) != self.items:
            found.append(f"counts are off: {ended}")
        failed = sum(line["status"] == "failed" for line in results.values())
        if len((self.output / "errors.jsonl").read_text().splitlines()) != failed:
            found.append("errors.jsonl does not hold the failed items")
        found += self._bought_twice()
        markers = [f"{run.run_id}/{attempt.n}" for run in self.runs() for attempt in run.attempts]
        found += [f"a process of {marker} is left" for marker, left in marked(markers).items() if left]
        found += [f"run {run.run_id} has not ended" for run in self.runs() if not run.ended]
        return found

    def _bought_twice(self) -> list[str]:
        found = []
        by_item: dict[str, list[RunRecord]] = defaultdict(list)
        for run in self.runs():
            by_item[str(run.custom_id)].append(run)
        starts = [line.partition("/")[0] for line in self.starts.read_text().split()]
        for name, runs in by_item.items():
            answered = [run for run in runs if run.status == "answered"]
            if len(answered) > 1:
                found.append(f"{name} was answered {len(answered)} times")
            if answered:
                last = max(at for at, run_id in enumerate(starts) if run_id == answered[0].run_id)
                ids = {run.run_id for run in runs}
                if any(run_id in ids for run_id in starts[last + 1 :]):
                    found.append(f"the agent was started for {name} after its answer")
        return found


class Watcher(threading.Thread):
    """Reads the results file all the while."""

    def __init__(self, chaos: Chaos) -> None:
        super().__init__(daemon=True)
        self.looks = 0
        self.problem: str | None = None
        self._chaos = chaos
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(0.02):
            try:
                self._chaos.results()
            except (AssertionError, ValueError) as error:
                self.problem = self.problem or f"results.jsonl: {error}"
            self.looks += 1

    def end(self) -> str | None:
        """What was wrong with the file at any moment."""
        self._over.set()
        self.join()
        return self.problem


def torment(folder: Path, *, items: int, kills: int, seed: int) -> tuple[list[str], dict[str, object], int]:
    """Kill the batch so many times, then let it end. What is wrong, what it said, and how often it was killed."""
    chaos = Chaos(folder, items, random.Random(seed))
    watcher = Watcher(chaos)
    watcher.start()
    done = sum(chaos.killed() for _ in range(kills))
    ended = chaos.to_its_end()
    wrong = watcher.end()
    return [*([wrong] if wrong else []), *chaos.problems(ended)], ended, done


def main() -> int:
    """Torment it. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=300)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    asked = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        problems, ended, kills = torment(Path(folder), items=asked.items, kills=asked.kills, seed=asked.seed)
    sys.stdout.write(
        f"{asked.items} items, {kills} kills in their midst, seed {asked.seed}, {time.monotonic() - begun:.0f} s: "
        f"{ended['answered']} answered, {ended['failed']} failed\n"
    )
    for problem in problems:
        sys.stdout.write(f"  {one_line(problem, 400)}\n")
    sys.stdout.write("  nothing is wrong\n" if not problems else "")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
