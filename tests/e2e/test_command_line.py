"""`atomic-flows run` with a real agent: what a person and a script get, and what is left when it is stopped."""

from __future__ import annotations

import contextlib
import json
import signal
import time

import psutil
import pytest

from atomic.processes import marked
from atomic.record import RunRecord
from tests.e2e.real import RealAgent

TICK = 0.05
RESULT_KEYS = [
    "run_id", "name", "status", "kind", "message", "answer", "answered_by", "attempts", "usage", "cost_usd", "seconds",
    "record", "flow_run_id", "changes",
]  # fmt: skip


def test_json_on_stdout_and_the_story_on_stderr(real: RealAgent) -> None:
    process = real.command_line.run("-", "fake/overflow", "other/ok", stdin=b"--say hi")
    out, err = process.communicate()
    result = json.loads(out)
    assert process.returncode == 0
    assert list(result) == RESULT_KEYS
    assert (result["answer"], result["answered_by"]) == ("Hello from fake model.", "other/ok")
    assert [attempt["kind"] for attempt in result["attempts"]] == ["overflow", None]
    assert b"fake/overflow" in err
    assert real.requests("other/ok")[0].last_text == "--say hi"


def test_no_answer_is_exit_1_without_a_traceback(real: RealAgent) -> None:
    process = real.command_line.run("say hi", "fake/s404")
    out, err = process.communicate()
    assert process.returncode == 1
    assert json.loads(out)["kind"] == "model_unavailable"
    assert b"Traceback" not in err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["int", "term"])
def test_a_signal_stops_the_agent_and_its_tool_and_keeps_the_record(
    number: signal.Signals, code: int, real: RealAgent
) -> None:
    process = real.command_line.run("sleep", "fake/sleeptool")
    marker = _wait_for_sleep(real)
    process.send_signal(number)
    out, err = process.communicate()
    assert process.returncode == code
    assert marked([marker])[marker] == []
    assert json.loads(out)["kind"] == "cancelled"
    assert b"Traceback" not in err


def test_what_a_killed_run_left_is_ended_by_the_next_command(real: RealAgent) -> None:
    process = real.command_line.run("sleep", "fake/sleeptool")
    marker = _wait_for_sleep(real)
    process.kill()
    process.communicate()
    assert marked([marker])[marker]
    again = real.command_line.run("say hi", "fake/ok")
    again.communicate()
    assert again.returncode == 0
    assert marked([marker])[marker] == []
    record = real.store.open(marker.partition("/")[0]).read()
    assert (record.status, record.kind) == ("failed", "interrupted")


def _wait_for_sleep(real: RealAgent) -> str:
    """The marker of the one run's first attempt, once its tool runs."""
    while True:
        runs: list[RunRecord] = list(real.store.iter_runs())
        if runs:
            marker = f"{runs[0].run_id}/1"
            with contextlib.suppress(psutil.NoSuchProcess):
                if "sleep" in [psutil.Process(process.pid).name() for process in marked([marker])[marker]]:
                    return marker
        time.sleep(TICK)
