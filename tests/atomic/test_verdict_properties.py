"""What holds for every stream: its cuts do not matter, and nothing in it can break the reading."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atomic.framing import Framer
from atomic.verdict import Status, StopReason, Verdict, VerdictFold, explanation, read_verdict
from atomic.verdict.handlers import HANDLERS

RECORDINGS = Path(__file__).parent.parent / "recordings"
SMALL = [
    stream
    for entry in json.loads((RECORDINGS / "manifest.json").read_text(encoding="utf-8"))
    if (stream := RECORDINGS / entry["stream"]).suffix == ".jsonl" and stream.stat().st_size < 20_000
]

NUMBERS = st.integers() | st.floats() | st.sampled_from([10**400, -1, 2**60, 1e308, float("nan"), float("inf")])
LEAVES = st.none() | st.booleans() | NUMBERS | st.text() | st.sampled_from(["\ud800", "stop", "error", "assistant", ""])
_KEYS = """type role message content text id toolCallId toolName result isError usage cost total input output stopReason
    errorMessage finalError success delayMs willRetry unresolvedOverflow rung model provider diagnostics error code
    timestamp aborted midTurn to endTurn rawStopReason responseModel"""
KEYS = st.sampled_from(_KEYS.split())
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=12
)
STOPS = st.sampled_from(["stop", "length", "toolUse", "error", "aborted", "pending", "deferred", "odd", ""])
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["assistant", "assistant", "user", "toolResult", "custom"])},
    optional={
        "stopReason": STOPS | JSON,
        "content": JSON,
        "errorMessage": JSON,
        "usage": JSON,
        "model": JSON,
        "diagnostics": JSON,
    },
)
TYPES = st.sampled_from([*HANDLERS, "unheard_of", ""])
RECORDS = st.builds(lambda kind, rest: rest | {"type": kind}, TYPES, st.dictionaries(KEYS, JSON | MESSAGES, max_size=6))
EXITS = st.sampled_from([None, 0, 1, 2, -9, -15, 129, 143, 255, -1000, 10**6])
STOPPED = st.none() | st.sampled_from(list(StopReason))


def fold(raw: bytes, cuts: list[int], exit_code: int | None, stopped: StopReason | None = None) -> Verdict:
    framer, reading = Framer(), VerdictFold()
    places = sorted({0, len(raw), *(cut % (len(raw) + 1) for cut in cuts)})
    for start, end in pairwise(places):
        reading.feed(framer.feed(raw[start:end]))
    reading.feed(framer.close())
    return reading.finish(framer.stats, exit_code=exit_code, stopped=stopped)


@settings(deadline=None)
@given(st.sampled_from(SMALL), st.lists(st.integers(min_value=0, max_value=20_000), max_size=12), EXITS, STOPPED)
def test_any_cut_of_a_stream_gives_the_same_verdict(
    stream: Path, cuts: list[int], exit_code: int | None, stopped: StopReason | None
) -> None:
    raw = stream.read_bytes()
    assert fold(raw, cuts, exit_code, stopped) == fold(raw, [], exit_code, stopped)


@settings(deadline=None)
@given(st.sampled_from(SMALL), st.integers(min_value=0, max_value=20_000), EXITS, STOPPED)
def test_a_stream_that_breaks_off_anywhere_has_a_verdict(
    stream: Path, end: int, exit_code: int | None, stopped: StopReason | None
) -> None:
    found = fold(stream.read_bytes()[:end], [], exit_code, stopped)
    assert (found.kind is None) == found.answered
    assert found.answered == (found.status is Status.ANSWERED)
    if found.answered:
        assert found.answer is not None


@settings(deadline=None)
@given(st.lists(RECORDS, max_size=12), EXITS, st.text(max_size=60), STOPPED)
def test_nothing_in_a_record_can_break_the_reading(
    records: list[dict[str, Any]], exit_code: int | None, stderr: str, stopped: StopReason | None
) -> None:
    raw = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    framer, reading = Framer(), VerdictFold()
    reading.feed(framer.feed(raw), at=1.0)
    assert reading.turns >= 0
    assert reading.usage.tokens >= 0
    assert isinstance(reading.ended, bool)
    assert reading.tool is None or isinstance(reading.tool, str)
    assert reading.announced_wait is None or reading.announced_wait.seconds >= 0
    found = reading.finish(framer.stats, exit_code=exit_code, stderr=stderr, stopped=stopped, now=1.8e9)
    assert (found.kind is None) == found.answered
    assert found.answered is False or bool(found.answer)
    assert found.complete is False or bool(found.answer)
    assert found.usage.cost_usd is None or found.usage.cost_usd >= 0
    json.dumps(explanation(found), allow_nan=False)
    assert Verdict.model_validate(found.model_dump(mode="json")) == found


@pytest.mark.parametrize("depth", [100, 900])
def test_deep_nesting_is_read_like_anything_else(depth: int, tmp_path: Path) -> None:
    deep = '{"message":' * depth + "1" + "}" * depth
    stream = tmp_path / "stream.jsonl"
    stream.write_text(
        f'{{"type":"message_end","message":{deep}}}\n{{"type":"agent_settled","x":{deep}}}\n', encoding="utf-8"
    )
    assert read_verdict(stream, exit_code=0).status is Status.FAILED


@settings(deadline=None)
@given(st.sampled_from(SMALL), EXITS)
def test_once_answered_a_stop_by_the_runner_takes_nothing_back(stream: Path, exit_code: int | None) -> None:
    raw = stream.read_bytes()
    by_itself = fold(raw, [], 0)
    for stopped in StopReason:
        found = fold(raw, [], exit_code, stopped)
        if by_itself.answered:
            assert found.answer == by_itself.answer
