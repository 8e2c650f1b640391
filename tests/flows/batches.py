"""A batch in a home of its own, on the scripted agent and without Prefect."""

from __future__ import annotations

import asyncio
import json
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from atomic.processes import living_markers
from atomic.record import RunRecord, RunStore
from flows.batch import BatchEvent, BatchProgress, BatchRequest, BatchResult, BatchRun, Notice, prepare_batch
from flows.database import Database
from tests.agents import closing, message, opening, say

PATIENCE = 60.0  # seconds for what happens beside the test; nothing is measured by it


@dataclass
class Batch:
    """The place of a batch: its home, its input, and what was told of it."""

    home: Path
    folder: Path
    events: list[BatchEvent] = field(default_factory=list)

    @property
    def input(self) -> Path:
        return self.folder / "items.jsonl"

    @property
    def output(self) -> Path:
        return self.folder / "items-results"

    def write(self, items: Iterable[tuple[str, str] | dict[str, Any]]) -> None:
        """The input: items as they are, or ids with models parted by `+`."""
        self.input.write_text("".join(f"{json.dumps(_item(item))}\n" for item in items))

    def prepare(self, **given: Any) -> BatchRequest:
        return prepare_batch(self.input, **{"agent": "scripted", "cwd": self.folder, **given})

    def begin(self, **given: Any) -> BatchRun:
        return BatchRun(self.prepare(**given), self.events.append)

    async def run(self, **given: Any) -> BatchResult:
        """Carry it out."""
        return await self.begin(**given).to_its_end()

    def agent(self, script: str) -> str:
        """The command of an agent that is this shell script."""
        program = self.folder / f"agent-{len(list(self.folder.iterdir()))}.sh"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return str(program)

    def lines(self, name: str = "results.jsonl") -> dict[str, dict[str, Any]]:
        """The lines of a results file by item; each is there once."""
        lines = [json.loads(line) for line in (self.output / name).read_text().splitlines()]
        assert all(n == 1 for n in Counter(line["custom_id"] for line in lines).values())
        return {line["custom_id"]: line for line in lines}

    def runs(self) -> list[RunRecord]:
        """All runs on record, the oldest first."""
        return list(RunStore(self.home / "records", home=self.home).iter_runs())[::-1]

    def database(self) -> Database:
        """The database as another process opens it."""
        return Database.open(home=self.home)

    def said(self) -> str:
        """All notices."""
        return "\n".join(event.text for event in self.events if isinstance(event, Notice))

    def progress(self) -> list[BatchProgress]:
        return [event for event in self.events if isinstance(event, BatchProgress)]

    def left_over(self) -> list[str]:
        """Markers of processes that still live and belong to a run of this batch."""
        ours = {run.run_id for run in self.runs()}
        return [marker for marker in living_markers() if marker.partition("/")[0] in ours]


def _item(item: tuple[str, str] | dict[str, Any]) -> dict[str, Any]:
    if isinstance(item, dict):
        return item
    name, models = item
    return {"custom_id": name, "prompt": f"the prompt of {name}", "models": models.split("+")}


async def until(found: Callable[[], object]) -> None:
    """Wait until something is the case."""
    async with asyncio.timeout(PATIENCE):
        while not found():
            await asyncio.sleep(0.02)


def fails(error: str) -> str:
    """Shell text of a session that ends with this error of its provider."""
    failed = message(stop="error", tokens=0, cost=0)
    failed["message"]["errorMessage"] = error
    return say(*opening(), failed, *closing())


@pytest.fixture
def batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Batch]:
    place = Batch(tmp_path / "home", tmp_path / "project")
    place.home.mkdir()
    place.folder.mkdir()
    monkeypatch.setenv("ATOMIC_FLOWS_HOME", str(place.home))
    monkeypatch.setenv("ATOMIC_FLOWS_SHARED", "true")
    monkeypatch.setenv("ATOMIC_FLOWS_RECORD__FSYNC", "false")
    monkeypatch.chdir(place.folder)
    yield place
    assert not place.left_over()
