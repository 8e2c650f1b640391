"""Agents that lay hands on the record of their own run: what they answered and wrote is kept all the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from atomic.agent import Agent
from atomic.runner import AttemptProgress, RunEvent, RunResult, execute, prepare
from atomic.settings import Settings
from tests.agents import Place, closing, message, opening, say

# The agent's own stdout says where its record is; what follows the first events is what it does there.
FIND = 'stream=$(readlink /proc/$$/fd/1); folder=$(dirname "$stream"); run=$(dirname "$folder")\n'
SAID = (*opening(), message("forty-two"), *closing())
PRINTED = b"".join(json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in SAID)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def asked(
    place: Place, agent: Agent, *, key: str | None = None, on_event: Callable[[RunEvent], None] | None = None
) -> RunResult:
    settings = Settings(home=place.folder)
    request = prepare("hello", models=["some/model"], agent=agent, cwd=place.work, settings=settings, key=key)
    return asyncio.run(execute(request, store=place.store, on_event=on_event))


@pytest.mark.parametrize(
    "deed",
    [
        pytest.param('rm -r "$run"', id="the run's folder removed"),
        pytest.param('rm -r "$run"; echo x > "$run"', id="a file in its place"),
        pytest.param('rm -r "$folder"', id="the attempt's folder removed"),
        pytest.param('rm "$stream"', id="the stream removed"),
        pytest.param('rm "$stream"; ln -s /etc/passwd "$stream"', id="a link"),
        pytest.param('rm "$stream"; mkdir "$stream"; echo x > "$stream/x"', id="a folder"),
        pytest.param('rm "$stream"; mkfifo "$stream"', id="a pipe"),
        pytest.param('cp "$stream" "$stream.2"; echo forged >> "$stream.2"; mv "$stream.2" "$stream"', id="a file"),
        pytest.param('rm "$folder"/attempt.json; mkdir "$folder/attempt.json"', id="a folder for attempt.json"),
        pytest.param('rm "$run"/run.json; mkdir "$run/run.json"', id="a folder for run.json"),
    ],
)
def test_an_answer_is_kept_whatever_its_agent_did_to_the_record(place: Place, deed: str) -> None:
    bought = place.folder / "bought"
    agent = place.agent(f"echo x >> {bought}\n{FIND}{say(*SAID[:3])}{deed}\n{say(*SAID[3:])}")
    result = asked(place, agent, key="k")
    assert result.answer == "forty-two"
    run = place.store.read(result.run_id)
    assert (run.status, run.answer) == ("answered", "forty-two")
    with place.store.open(result.run_id).attempt(1).open_stream() as stream:
        assert stream.read() == PRINTED
    if "json" not in deed:
        assert any(str(place.store.root) in warning for warning in result.warnings)
    again = asked(place, agent, key="k")
    assert (again.run_id, again.answer) == (result.run_id, "forty-two")
    assert bought.read_text() == "x\n"


@pytest.mark.parametrize("deed", [': > "$stream"', 'truncate -s 10 "$stream"'])
def test_a_stream_that_is_cut_short_is_told(place: Place, deed: str) -> None:
    go = place.folder / "go"
    wait = f"while [ ! -e {go} ]; do sleep 0.02; done\n"
    agent = place.agent(f"{FIND}{say(*opening(), message('forty-two' * 99))}{wait}{deed}\n{say(*closing())}")

    def hear(event: RunEvent) -> None:
        if isinstance(event, AttemptProgress) and event.progress.bytes > 99 * 9:
            go.touch()

    result = asked(place, agent, on_event=hear)
    assert any("was cut to" in warning for warning in result.warnings)
    run = place.store.read(result.run_id)
    assert run.warnings == result.warnings
