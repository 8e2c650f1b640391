"""Schedules that are served: a process of its own, a real server, runs that are due every few seconds."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from atomic.errors import AtomicError
from flows.database import Database, EditionState, control, editions
from flows.schedule.times import edition_of
from tests.flows.conftest import PROGRAM
from tests.flows.prefect_server import Place

PATIENCE = 120.0  # seconds for what other processes do; nothing is measured by it
SCHEDULES = """
[[schedule]]
name = "quick {tag}"
interval = 20
[schedule.batch]
input = "prompts.jsonl"
agent = "scripted"
max_tokens = 1000000

[[schedule]]
name = "ask {tag}"
interval = 3600
[schedule.prompt]
text = "hello"
agent = "scripted"
models = ["a/ok"]
"""


class Served:
    """A schedules file in a place of its own, on the server that all tests share."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.tag = place.home.parent.name[-24:]  # deployments of other tests have other names
        self.file = place.project / "schedules.toml"
        self.file.write_text(SCHEDULES.format(tag=self.tag))
        self.write("a/ok", "b/overflow")
        self.processes: list[subprocess.Popen[bytes]] = []
        self.log = place.project / "serve.log"

    def write(self, *models: str) -> None:
        items = [{"custom_id": f"item-{n}", "prompt": "hello", "models": [model]} for n, model in enumerate(models)]
        (self.place.project / "prompts.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in items))

    def start(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            self.processes.append(
                subprocess.Popen(
                    [PROGRAM, "serve", self.file],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=self.place.project,
                    env=self.place.environment(),
                )
            )
        return self.processes[-1]

    def end(self, sign: signal.Signals = signal.SIGTERM) -> int:
        self.processes[-1].send_signal(sign)
        return self.processes[-1].wait(PATIENCE)

    def editions(self, name: str) -> list[EditionState]:
        with contextlib.closing(Database.open(home=self.place.home)) as database:
            try:
                return control.editions_of(database, f"{name} {self.tag}")
            except AtomicError:
                return []

    def until(self, holds: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + PATIENCE
        while not (found := holds()):
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.2)
        return found

    def ask(self, path: str, body: dict[str, Any] | None = None, method: str = "POST") -> Any:
        """What the server answers; None where it refuses. A server whose database is busy is asked again."""
        url = f"{self.place.server.url}/{path}"
        given: dict[str, Any] = {"json": body} if body is not None else {}

        def answer() -> httpx.Response | None:
            reply = httpx.request(method if given else "GET", url, **given, trust_env=False, timeout=60)
            return None if reply.is_server_error else reply

        reply: httpx.Response = self.until(answer)
        return (reply.json() if reply.content else True) if reply.is_success else None

    def deployment(self, name: str, flow: str) -> dict[str, Any] | None:
        found: dict[str, Any] | None = self.ask(f"deployments/name/{flow}/{name} {self.tag}")
        return found

    def flow_runs(self, deployment: dict[str, Any]) -> list[dict[str, Any]]:
        found = self.ask("flow_runs/filter", {"deployments": {"id": {"any_": [deployment["id"]]}}})
        return [run for run in found if run["state_type"] != "SCHEDULED"]


@pytest.fixture
def served(place: Place) -> Iterator[Served]:
    it = Served(place)
    yield it
    for process in it.processes:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)
    for name, flow in (("quick", "scheduled-batch"), ("ask", "scheduled-prompt")):
        if (there := it.deployment(name, flow)) is not None:
            httpx.delete(f"{place.server.url}/deployments/{there['id']}", trust_env=False)


def test_what_is_due_is_carried_out_and_what_was_missed_is_said(served: Served) -> None:
    hour = time.time() // 3600 * 3600
    with contextlib.closing(Database.open(home=served.place.home)) as database:
        editions.skip(database, f"ask {served.tag}", edition_of(hour - 3 * 3600), reason="the last that was seen")
    served.start()
    served.until(lambda: [one for one in served.editions("quick") if one.status == "finished"])

    missed = [one for one in served.editions("ask") if one.reason.startswith("missed: nobody served")]
    assert {edition_of(hour - 2 * 3600), edition_of(hour - 3600)} <= {one.name for one in missed}
    assert "times were missed, nobody served it then" in served.log.read_text()

    batch, prompt = served.deployment("quick", "scheduled-batch"), served.deployment("ask", "scheduled-prompt")
    assert batch is not None
    assert prompt is not None
    assert batch["parameters"]["max_tokens"] == 1_000_000
    assert batch["enforce_parameter_schema"]
    assert batch["parameter_openapi_schema"]["properties"]["overlap"]["enum"] == ["skip", "queue"]
    made = f"deployments/{batch['id']}/create_flow_run"
    assert served.ask(made, {"parameters": {"overlap": "perhaps"}}) is None, "its parameters are checked"

    made = f"deployments/{prompt['id']}/create_flow_run"
    assert served.ask(made, {"parameters": {"prompt": "say it", "models": ["a/echo"]}}) is not None
    (asked,) = served.until(lambda: [one for one in served.editions("ask") if one.status == "finished"])
    answer = json.loads((Path(asked.output) / "results.jsonl").read_text())
    assert (answer["status"], answer["answered_by"]) == ("answered", "a/echo")
    assert "say it" in answer["answer"]

    served.file.write_text(f"{served.file.read_text()}# edited\n")
    served.until(lambda: "has changed: what is served is as it was read" in served.log.read_text())

    # As somebody would in Prefect's pages.
    changed = {**batch["parameters"], "max_tokens": 999_999}
    assert served.ask(f"deployments/{batch['id']}", {"parameters": changed}, method="PATCH")
    assert served.end(signal.SIGINT) == 130
    ended = [one for one in served.editions("quick") if one.status == "finished"]
    assert all((one.counts.answered, one.counts.failed) == (1, 1) for one in ended)
    assert {"Some failed"} <= {run["state_name"] for run in served.flow_runs(batch)}

    served.start()
    served.until(lambda: served.log.read_text().count("\nserving ") == 2)
    again = served.deployment("quick", "scheduled-batch")
    assert again is not None
    assert again["parameters"] == changed
    assert "with what was changed in Prefect" in served.log.read_text()
    assert served.end() == 143
    assert served.place.markers() == []
    assert "Traceback" not in served.log.read_text()
