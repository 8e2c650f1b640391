from __future__ import annotations

import json
import os
import signal
import tempfile
import time
from pathlib import Path

import httpx
import pytest

from tests.flows.conftest import CommandLine


def test_demo_shows_a_fallback_as_a_flow_and_leaves_no_server(cli: CommandLine) -> None:
    servers = set(Path(tempfile.gettempdir()).glob(f"atomic-flows-{os.getuid()}-*"))
    done = cli("demo")
    assert done.code == 0, done.err
    assert done.out == "Hello from a scripted agent.\n"
    for said in ("no key is used", "scripted/overflow", "rate_limit", "answered by third/ok", "record cat"):
        assert said in done.err
    assert "Traceback" not in done.err
    assert "Error" not in done.err
    (folder,) = cli.records()
    assert json.loads((folder / "run.json").read_text())["flow_run_id"]
    assert json.loads(cli("status", "--json").out)["server"]["running"] is False
    assert set(Path(tempfile.gettempdir()).glob(f"atomic-flows-{os.getuid()}-*")) <= servers


def test_the_local_server_is_started_once_told_of_everything_and_stopped(cli: CommandLine) -> None:
    first = cli("run", "--agent", "scripted", "-m", "scripted/overflow", "-m", "other/echo", "--json", "one")
    assert first.code == 0, first.err
    assert "starting the local Prefect server" in first.err
    assert "`atomic-flows down` stops it" in first.err
    result = json.loads(first.out)
    server = json.loads(cli("status", "--json").out)["server"]
    assert (server["running"], server["healthy"]) == (True, True)
    assert f"{server['dashboard']}/runs/flow-run/{result['flow_run_id']}" in first.err

    process = cli.start("run", "--agent", "scripted", "-m", "scripted/stubborn", "two")
    cli.until_at_work(process)
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
    done = cli.end(process)
    assert done.code == 130
    assert "starting" not in done.err
    assert "Traceback" not in done.err
    assert "failed: cancelled" in done.err

    prefect, pages = cli("up").out.split()
    assert prefect == server["dashboard"]
    assert httpx.get(f"{pages}/runs/{result['run_id']}", trust_env=False).status_code == httpx.codes.OK
    assert cli("up").out.split() == [prefect, pages]
    assert json.loads(cli("status", "--json").out)["dashboard"]["url"] == pages
    assert pages in cli("status").out
    assert f"PREFECT_API_URL={server['url']}\n" in cli("up").err
    assert f"PREFECT_API_URL={server['url']} " in cli("status").out
    runs = httpx.post(f"{server['url']}/flow_runs/filter", json={}, trust_env=False).json()
    assert sorted(run["state_type"] for run in runs) == ["CANCELLED", "COMPLETED"]
    stopped = cli("down").err
    assert f"stopped the server at {prefect}" in stopped
    assert f"stopped the dashboard at {pages}" in stopped
    assert json.loads(cli("status", "--json").out)["server"]["running"] is False
    assert "no server was running" in cli("down").err


@pytest.mark.parametrize("command", ["run", "batch"])
def test_a_server_that_goes_away_costs_no_answer_and_little_time(cli: CommandLine, command: str) -> None:
    (cli.project / "prompts.txt").write_text("only one\n")
    what = "prompts.txt" if command == "batch" else "only one"
    process = cli.start(command, what, "--agent", "scripted", "-m", "scripted/slow-60")
    cli.until_at_work(process)
    os.kill(json.loads((cli.home / "prefect" / "server.json").read_text())["pid"], signal.SIGKILL)
    done = cli.end(process)
    assert done.code == 0, done.err
    (folder,) = cli.records()
    answer = json.loads((folder / "run.json").read_text())["answer"].strip()
    assert answer.endswith("word59")
    assert done.out.strip() == (str(cli.project / "prompts-results/results.jsonl") if command == "batch" else answer)
    assert f"Prefect's server was not told how the {command} ended" in done.err
    for noise in ("Traceback", "Error logging", "Still processing", "ERROR", "WARNING", "page "):
        assert noise not in done.err
