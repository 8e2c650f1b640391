"""One Prefect server for all tests of a session, started by the code under test, and what tests ask it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

import pytest

from atomic.processes import living_markers
from atomic.record import RunRecord, RunStore
from flows.server import ServerInfo, choose, stop_server

if TYPE_CHECKING:
    from prefect.client.schemas.objects import Artifact, FlowRun, TaskRun

PATIENCE = 120.0  # seconds for what other processes do; nothing is measured by it


@dataclass
class Place:
    """A home with its records, a folder to work in, and processes that run flows there."""

    home: Path
    project: Path
    server: ServerInfo
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def store(self) -> RunStore:
        """The store of the home."""
        return RunStore(self.home / "records", home=self.home)

    def runs(self) -> list[RunRecord]:
        """All runs on record."""
        return list(self.store.iter_runs())

    def environment(self) -> dict[str, str]:
        """For a process that finds the shared server the way users give it."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        return {
            **kept,
            "ATOMIC_FLOWS_HOME": str(self.home),
            "ATOMIC_FLOWS_SHARED": "true",
            "PREFECT_API_URL": self.server.url,
        }

    def start(self, program: str, *args: str, **environ: str) -> subprocess.Popen[bytes]:
        """Start a Python program."""
        process = subprocess.Popen(
            [sys.executable, "-c", program, *args],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.project,
            env={**self.environment(), **environ},
        )
        self.started.append(process)
        return process

    def markers(self) -> list[str]:
        """Markers of living processes that belong to a run of this home."""
        ours = {record.run_id for record in self.runs()}
        return [marker for marker in living_markers() if marker.partition("/")[0] in ours]

    def until_tool_runs(self, process: subprocess.Popen[bytes] | None = None) -> RunRecord:
        """Wait until an agent, that of the process or our own, has started a tool."""

        def running() -> RunRecord | None:
            if process is not None and process.poll() is not None:
                raise AssertionError(process.communicate())
            for record in self.runs():
                stream = self.store.open(record.run_id).attempt(1).stream
                if stream.exists() and b"tool_execution_start" in stream.read_bytes():
                    return record
            return None

        return until(running)


T = TypeVar("T")


def until(found: Callable[[], T | None]) -> T:
    """What is found at last."""
    deadline = time.monotonic() + PATIENCE
    while (value := found()) is None:
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.05)
    return value


async def read_back(flow_run_id: str, *, tasks_at_least: int = 1) -> tuple[FlowRun, list[TaskRun]]:
    """A flow run and its task runs by name, once the server has so many of them and all in a final state: it writes
    task runs down a few seconds after it was told of them."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId

    deadline = time.monotonic() + PATIENCE
    only = FlowRunFilter(id=FlowRunFilterId(any_=[UUID(flow_run_id)]))
    async with get_client() as client:
        while True:
            flow_run = await client.read_flow_run(UUID(flow_run_id))
            tasks = await client.read_task_runs(flow_run_filter=only)
            states = [flow_run.state, *(task.state for task in tasks)]
            if len(tasks) >= tasks_at_least and all(state is not None and state.is_final() for state in states):
                return flow_run, sorted(tasks, key=lambda one: one.name)
            assert time.monotonic() < deadline, f"not ended: {states}"


async def artifacts_of(*, flow_run_id: str) -> list[Artifact]:
    """The artifacts of a flow run and its task runs, the oldest first."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterFlowRunId
    from prefect.client.schemas.sorting import ArtifactSort

    only = ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=[UUID(flow_run_id)]))
    async with get_client() as client:
        return await client.read_artifacts(artifact_filter=only, sort=ArtifactSort.CREATED_DESC)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerInfo]:
    home = tmp_path_factory.mktemp("prefect-home")
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("PREFECT_")]:
            patch.delenv(name)
        patch.setenv("PREFECT_HOME", str(home / "client"))
        before: dict[str, Any] = dict(os.environ)
        choice = choose("local", home=home)
        assert choice.info is not None
        try:
            yield choice.info
        finally:
            stop_server(home)
            os.environ.clear()
            os.environ.update(before)


@pytest.fixture
def place(tmp_path: Path, server: ServerInfo, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    place = Place(tmp_path / "home", tmp_path / "project", server)
    place.home.mkdir()
    place.project.mkdir()
    monkeypatch.setenv("ATOMIC_FLOWS_HOME", str(place.home))
    monkeypatch.setenv("ATOMIC_FLOWS_SHARED", "true")
    monkeypatch.chdir(place.project)
    yield place
    for process in place.started:
        if process.poll() is None:
            process.kill()
        process.communicate()
