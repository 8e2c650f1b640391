from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from atomic.record import RunStore
from atomic.record.redact import redact, redacted_line
from atomic.recovery import recover
from atomic.runner import run
from atomic.text import MASK, Masker
from atomic.verdict import read_verdict
from tests.agents import MODEL, Place, closing, left_of, message, opening, say

KEY = "sk-live-4242424242424242"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    place = Place(tmp_path)
    place.store.redact = Masker()
    return place


def update(delta: str) -> dict[str, Any]:
    return {"type": "message_update", "assistantMessageEvent": {"type": "text_delta", "delta": delta}}


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def test_nothing_that_is_kept_holds_a_known_secret(place: Place) -> None:
    changed = {"type": "model_changed", "model": {"id": "m", "headers": {"Authorization": "Bearer from-a-command"}}}
    failed = message("", "error")
    failed["message"]["errorMessage"] = f"400 invalid request: key {KEY} is odd"
    script = (
        say(*opening(), changed, update(KEY[:9]), update(KEY[9:]), message(f"it is {KEY}", "toolUse"), failed)
        + f'echo "debug {KEY}" >&2\n'
        + 'while [ "$1" != --session ]; do shift; done; echo \'{"text":"\'$OPENAI_API_KEY\'"}\' > "$2"\n'
        + say(*closing())
    )
    agent = place.agent(script, env={"OPENAI_API_KEY": KEY})
    record = await place.run(agent, prompt=f"use {KEY}".encode())
    folder = place.path(record)
    kept = everything(folder)
    stream = place.stream(record)
    assert record.redacted
    assert record.stream is not None
    assert record.stream.bytes == len(stream)
    for name, data in {**kept, "stream": stream}.items():
        assert KEY.encode() not in data, name
        assert b"from-a-command" not in data, name
    assert MASK.encode() in kept["session/session.jsonl"]
    assert MASK.encode() in kept["stderr.txt"]
    assert MASK.encode() in kept["prompt.md"]
    # The pieces of a secret are gone with the updates, which a later record repeats whole.
    assert KEY[:9].encode() not in stream
    assert stream.count(b'{"type":"message_update"}\n') == 2


async def test_evidence_still_points_at_its_record(place: Place) -> None:
    failed = message("", "error")
    failed["message"]["errorMessage"] = "429 rate limit reached"
    script = say(*opening(), update("x" * 500), update("y" * 500), failed, *closing())
    record = await place.run(place.agent(script))
    assert record.verdict is not None
    (evidence, *_) = record.verdict.evidence
    attempt = place.store.open(record.run_id).attempt(1)
    with attempt.read_at(evidence.offset) as at:
        assert json.loads(at.readline())["message"]["errorMessage"] == "429 rate limit reached"
    again = read_verdict(attempt.stream, exit_code=record.exit_code)
    assert (again.evidence, again.kind) == (record.verdict.evidence, record.kind)


async def test_without_it_the_record_is_what_the_agent_wrote(place: Place) -> None:
    place.store.redact = None
    script = say(*opening(), update(KEY), message(f"it is {KEY}"), *closing())
    record = await place.run(place.agent(script, env={"OPENAI_API_KEY": KEY}))
    assert not record.redacted
    assert place.stream(record).count(KEY.encode()) == 2
    # What is ours to say is masked all the same.
    assert record.verdict is not None
    assert record.verdict.answer == f"it is {MASK}"


async def test_what_a_kill_left_is_redacted_by_recovery(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = place.spec("exit 0", model=MODEL)
    spec.folder.create(b"hello")
    spec.folder.stream.write_bytes(json.dumps(message(KEY)).encode() + b"\n")
    run_record = place.store.open(spec.run_id).read()
    assert run_record.owner is not None
    dead = run_record.owner.model_copy(update={"process_started": 1.0, "pid": 2**22 - 3})
    place.store.open(spec.run_id).write(run_record.model_copy(update={"owner": dead}))
    place.store.live.enter(spec.run_id, place.store.open(spec.run_id).path, dead, place.store.root)
    place.store.redact = Masker([KEY])
    found = await recover(place.store)
    assert [one.run.run_id for one in found.runs] == [spec.run_id]
    attempt = place.store.open(spec.run_id).attempt(1)
    assert attempt.read().redacted
    with attempt.open_stream() as stream:
        assert KEY.encode() not in stream.read()
    assert left_of(spec) == []


async def test_a_key_answers_a_prompt_that_was_redacted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    store = RunStore(tmp_path / "records", home=tmp_path / "home", fsync=False, redact=Masker([KEY]))
    for _ in range(2):
        result = await run(
            f"say {KEY}", models=["scripted/echo"], agent="scripted", cwd=tmp_path, key="once", store=store
        )
        assert result.answer == f"say {MASK}"
        assert not any("another prompt" in warning for warning in result.warnings)
    assert KEY.encode() not in b"".join(everything(tmp_path / "records").values())


def test_again_after_a_kill_changes_nothing_more(tmp_path: Path) -> None:
    stream = tmp_path / "stream.jsonl"
    stream.write_bytes(b'{"type":"message_end","key":"' + KEY.encode() + b'"}\nnoise ' + KEY.encode())
    assert redact(tmp_path, Masker([KEY]), lines=[2]) == {2: 41}
    once = stream.read_bytes()
    redact(tmp_path, Masker([KEY]))
    assert stream.read_bytes() == once
    assert [path.name for path in tmp_path.iterdir()] == ["stream.jsonl"]


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"message_update","delta":"sk-li',
        b'{"type":"model_changed","model":{"headers":{"X-Key":"abc',
        b'{"type":"model_changed","model":{"headers":["x"]}}\n',
        b'{"headers":' * 2000,
        b"\x00\x00\xff\n",
    ],
)
def test_torn_and_hostile_lines_are_lines_still(line: bytes) -> None:
    assert redacted_line(line, Masker([KEY])).count(b"\n") == line.count(b"\n")
    assert b"abc" not in redacted_line(line, Masker([KEY]))
