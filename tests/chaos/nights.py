"""Three nights on a fast clock: `python -m tests.chaos.nights [--every SECONDS] [--items N]`.

A schedule that is due every few seconds is served. The first night is left alone. In the second its process gets
SIGKILL, and the edition must be gone on with. In the third, which is longer than the clock's step, Prefect's server is
ended and comes back, and the next night must find the third one running and give way. Then the serving is ended in the
midst of a night, and the schedule must be served again.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from atomic.errors import AtomicError
from atomic.processes import marked
from atomic.record import RunStore
from flows.database import Database, EditionState, control, items
from flows.server import server_status, stop_server
from tests.chaos.victims import markers

PROGRAM = Path(sys.executable).with_name("atomic-flows")
EVERY = 40  # seconds; a flow run's process alone takes some of them to start
ITEMS = 6
PATIENCE = 240.0  # seconds for anything to happen: what does not is a failure of the night, not of the program
NAME = "nightly"
SCHEDULE = """
[[schedule]]
name = "{name}"
interval = {every}
overlap = "skip"
late = {every}
[schedule.batch]
input = "prompts.jsonl"
agent = "scripted"
models = ["scripted/ok"]
concurrency = 2
shared = true
max_tokens = 100000000
"""


@dataclass
class Nights:
    """A schedule in a folder of its own."""

    folder: Path
    every: int
    items: int
    said: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.home, self.project = self.folder / "home", self.folder / "project"
        for folder in (self.home, self.project):
            folder.mkdir(parents=True)
        self.file = self.project / "nights.toml"
        self.file.write_text(SCHEDULE.format(name=NAME, every=self.every))
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "HOME") if name in os.environ}
        self.environment = {**kept, "ATOMIC_FLOWS_HOME": str(self.home), "ATOMIC_FLOWS_SHARED": "true"}

    def write(self, model: str) -> None:
        """Tonight's prompts, each for this model."""
        lines = [{"custom_id": f"item-{n}", "prompt": f"prompt {n}", "models": [model]} for n in range(self.items)]
        new = self.project / ".prompts.new"
        new.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        new.replace(self.project / "prompts.jsonl")

    def serve(self) -> subprocess.Popen[bytes]:
        """Start serving."""
        with (self.folder / "serve.log").open("ab") as log:
            return subprocess.Popen(
                [PROGRAM, "serve", self.file],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.project,
                env=self.environment,
                start_new_session=True,
            )

    def editions(self) -> list[EditionState]:
        """The editions, the oldest first."""
        if not (self.home / "history.db").exists():
            return []
        with contextlib.closing(Database.open(None, home=self.home)) as database:
            try:
                return control.editions_of(database, NAME, limit=50)[::-1]
            except AtomicError:
                return []

    def ids(self, edition: EditionState) -> list[str]:
        """The items of an edition that have ended, as the results tell them."""
        with contextlib.closing(Database.open(None, home=self.home)) as database:
            return [item.custom_id for item in items.results(database, edition.id)]

    def until(self, what: str, holds: Callable[[], Any]) -> Any:
        """Wait until something holds. Raises AssertionError where it does not come to it."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if found := holds():
                self.say(what)
                return found
            time.sleep(0.2)
        raise AssertionError(f"never: {what}\n{(self.folder / 'serve.log').read_text()}")

    def night(self, known: set[str]) -> EditionState:
        """Wait until another night is in its midst."""

        def at_work() -> EditionState | None:
            return next((one for one in self.editions() if one.name not in known and one.counts.running), None)

        found: EditionState = self.until("a night has begun", at_work)
        known.add(found.name)
        return found

    def ended(self, edition: EditionState) -> EditionState:
        """Wait until an edition has ended."""

        def over() -> EditionState | None:
            return next((one for one in self.editions() if one.id == edition.id and one.status == "finished"), None)

        found: EditionState = self.until(f"edition {edition.name} is finished", over)
        return found

    def say(self, text: str) -> None:
        """Keep and print a line."""
        self.said.append(text)
        sys.stdout.write(f"  {time.strftime('%H:%M:%S')} {text}\n")
        sys.stdout.flush()

    def expect(self, holds: bool, what: str) -> None:
        """Note what does not hold."""
        if not holds:
            self.wrong.append(what)

    def flow_runs(self) -> list[dict[str, Any]]:
        """What Prefect knows of the schedule's flow runs whose time has come."""
        info = server_status(self.home).info
        assert info is not None, "a server was started"
        asked = {"flows": {"name": {"any_": ["scheduled-batch"]}}, "limit": 200}
        found = httpx.post(f"{info.url}/flow_runs/filter", json=asked, trust_env=False, timeout=30).json()
        return [run for run in found if run["state_type"] != "SCHEDULED"]


def three_nights(nights: Nights) -> Iterator[str]:
    """The story. Yields what is wrong."""
    known: set[str] = set()
    nights.write("scripted/slow-10")
    serving = nights.serve()
    try:
        nights.ended(nights.night(known))

        nights.write("scripted/slow-20")
        second = nights.night(known)
        assert second.owner is not None, "it is running"
        os.kill(second.owner.pid, signal.SIGKILL)
        nights.say(f"killed process {second.owner.pid} of edition {second.name}")
        second = nights.ended(second)

        nights.write(f"scripted/slow-{nights.every * 20 // nights.items}")  # longer than the clock's step by a half
        third = nights.night(known)
        stop_server(nights.home)
        nights.say("ended Prefect's server")
        nights.until(
            "a night gave way to the one before",
            lambda: any(one.status == "skipped" and third.name in one.reason for one in nights.editions()),
        )
        nights.ended(third)

        fourth = nights.night(known)
        serving.send_signal(signal.SIGTERM)
        code = serving.wait(PATIENCE)
        nights.say("ended the serving")
        nights.expect(code == 143, f"serving ended with {code}")
        left = next(one for one in nights.editions() if one.id == fourth.id)
        nights.expect(left.status == "stopped", f"the night under way is {left.status}")
        nights.expect(not _agents(nights), "agents are left after the end")
        serving = nights.serve()
        nights.ended(fourth)
        _in_prefect(nights)
    finally:
        if serving.poll() is None:
            serving.send_signal(signal.SIGTERM)
            serving.wait(PATIENCE)
    for edition in nights.editions():
        if edition.status == "finished":
            ids = nights.ids(edition)
            nights.expect(len(ids) == len(set(ids)) == nights.items, f"edition {edition.name} holds {sorted(ids)}")
        nights.expect(not edition.alive, f"edition {edition.name} is still running")
    nights.expect(not _agents(nights), "agents are left")
    nights.expect("Traceback" not in (nights.folder / "serve.log").read_text(), "serving showed a traceback")
    yield from nights.wrong


def _in_prefect(nights: Nights) -> None:
    going = ("RUNNING", "PENDING")
    nights.until(
        "Prefect knows the end of all", lambda: all(run["state_type"] not in going for run in nights.flow_runs())
    )
    states = Counter(run["state_name"] for run in nights.flow_runs())
    nights.say(f"in Prefect: {dict(states)}")
    nights.expect(states["Completed"] >= 3, "fewer than three nights are completed in Prefect")
    nights.expect(states["Crashed"] == 1, "the killed night is not shown as crashed")
    nights.expect(states["Skipped"] >= 1, "no night is shown as skipped")


def _agents(nights: Nights) -> bool:
    store = RunStore(nights.home / "records", home=nights.home)
    return any(marked(markers(store)).values())


def main() -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.nights", description=__doc__)
    parser.add_argument("--every", type=int, default=EVERY, help="seconds from night to night")
    parser.add_argument("--items", type=int, default=ITEMS)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="nights-"))
    nights = Nights(folder, given.every, given.items)
    begun = time.monotonic()
    try:
        wrong = list(three_nights(nights))
    finally:
        stop_server(nights.home)
    for edition in nights.editions():
        counts = edition.counts
        sys.stdout.write(f"  edition {edition.name}  {edition.status}  {counts.answered} answered  {edition.reason}\n")
    for text in wrong:
        sys.stdout.write(f"  WRONG: {text}\n")
    sys.stdout.write(f"{time.monotonic() - begun:.0f} s, {len(wrong)} things wrong; to look into: {folder}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
