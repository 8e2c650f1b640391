"""Streams on a page: what happened in them, their raw events by number, and no more read than is shown."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atomic.framing import Record
from atomic.record import AttemptFolder, RunStore
from atomic.record.compress import FRAME_BYTES
from atomic.text import MASK, Masker
from atomic.verdict import read_verdict
from flows.dashboard.bodies import read_bodies
from flows.dashboard.outline import Outline, Sort
from flows.dashboard.streams import PAGE, Growing, raw_page, tell
from tests.agents import closing, message, opening, tool_end, tool_start

RECORDINGS = sorted(path for path in (Path(__file__).parents[2] / "recordings").rglob("*.jsonl"))
SECRET = "sk-a-key-that-nobody-may-see"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
TYPES = (
    "message_end tool_execution_start tool_execution_end auto_retry_start auto_retry_end compaction_start "
    "compaction_end model_fallback_start model_fallback_end model_changed agent_continue_error turn_end other"
).split()
FIELDS = (
    "message toolCallId toolName args result isError attempt maxAttempts delayMs errorMessage success reason from to "
    "model"
).split()


def attempt_of(folder: Path, lines: list[bytes], *, rest: bool = True) -> AttemptFolder:
    """An attempt whose stream holds these lines."""
    run = RunStore(folder / "records", home=folder / "home", fsync=False).create(b"hi")
    attempt = run.attempt(1)
    attempt.create(b"hi")
    attempt.stream.write_bytes(b"".join(lines))
    if rest:
        attempt.finish()
    return attempt


def encoded(*records: dict[str, Any]) -> list[bytes]:
    return [json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in records]


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_outline_agrees_with_the_verdict(path: Path, tmp_path: Path) -> None:
    verdict = read_verdict(path, exit_code=0)
    told = tell(attempt_of(tmp_path, [path.read_bytes()]))
    count = {sort: sum(entry.sort is sort for entry in told.entries) for sort in Sort}
    assert count[Sort.RETRY] >= verdict.retries
    assert count[Sort.COMPACTION] >= verdict.compactions
    assert count[Sort.TOOL] >= verdict.tool_calls
    assert (told.noise, told.torn) == (verdict.noise, verdict.torn)


@given(st.lists(st.tuples(st.sampled_from(TYPES), st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=6))))
@settings(max_examples=60)
def test_any_record_can_be_taken(records: list[tuple[str, dict[str, Any]]]) -> None:
    outline = Outline()
    for line, (kind, data) in enumerate(records, 1):
        outline.take(Record(line, line * 10, 9, kind, {"type": kind, **data}))
    assert all(entry.line <= len(records) for entry in outline.entries)


def test_tools_retries_and_compactions_are_told_with_their_ends(tmp_path: Path) -> None:
    records = [
        *opening(),
        tool_start("1"),
        {**tool_end("1"), "isError": True},
        tool_start("2", "read"),
        {"type": "auto_retry_start", "attempt": 1, "maxAttempts": 2, "delayMs": 2000, "errorMessage": "429"},
        {"type": "auto_retry_start", "attempt": 2, "maxAttempts": 2, "delayMs": 4000, "errorMessage": "429"},
        {"type": "auto_retry_end", "success": False, "attempt": 2, "finalError": "429 for good"},
        {"type": "compaction_start", "reason": "overflow"},
        {"type": "compaction_end", "reason": "overflow", "result": {"summary": "short"}, "willRetry": True},
        {"type": "compaction_end", "unresolvedOverflow": True, "errorMessage": "too large"},
        message("done"),
        *closing(),
    ]
    told = tell(attempt_of(tmp_path, encoded(*records)))
    assert [(entry.sort, entry.name, entry.failed, entry.line) for entry in told.entries] == [
        (Sort.TOOL, "bash", True, 5),
        (Sort.TOOL, "read", None, 6),
        (Sort.RETRY, "retry 1 of 2", True, 7),
        (Sort.RETRY, "retry 2 of 2", True, 9),
        (Sort.COMPACTION, "compaction", False, 11),
        (Sort.COMPACTION, "compaction", True, 12),
        (Sort.ASSISTANT, "some/model", False, 13),
    ]


def test_a_growing_stream_is_told_as_it_grows(tmp_path: Path) -> None:
    lines = encoded(*opening(), tool_start("1"), tool_end("1"), message("done"), *closing())
    attempt = attempt_of(tmp_path, lines[:4], rest=False)
    growing = Growing(attempt)
    assert [entry.failed for entry in growing.advance().entries] == [None]
    with attempt.stream.open("ab") as stream:
        stream.write(b"".join(lines[4:])[:-9])
    assert [entry.sort for entry in growing.advance().entries] == [Sort.TOOL, Sort.ASSISTANT]
    attempt.finish()
    assert growing.advance().entries == tell(attempt).entries
    growing.close()


def test_events_late_in_a_record_open_without_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = b'{"type":"message_update","delta":"' + b"x" * 1000 + b'"}\n'
    total = FRAME_BYTES * 6 // len(line)
    attempt = attempt_of(tmp_path, [line.replace(b"xxxxxxxxxx", b"%010d" % n) for n in range(1, total + 1)])
    passed = 0
    real = io.BufferedReader.readline

    class Counting(io.BufferedReader):
        def readline(self, size: int | None = -1, /) -> bytes:
            nonlocal passed
            piece = real(self, size)
            passed += len(piece)
            return piece

    monkeypatch.setattr("atomic.record.reading.io.BufferedReader", Counting)
    page = raw_page(attempt, total - 20, Masker())
    assert [event.line for event in page.events] == list(range(total - 20, total + 1))
    assert f"{total - 20:010d}" in page.events[0].text
    assert not page.more
    assert passed <= FRAME_BYTES * 2  # of six frames


def test_pages_of_events_follow_each_other(tmp_path: Path) -> None:
    attempt = attempt_of(tmp_path, [b'{"type":"a%d"}\n' % n for n in range(1, PAGE * 2 + 2)])
    pages = [raw_page(attempt, first, Masker()) for first in (1, PAGE + 1, PAGE * 2 + 1, PAGE * 9)]
    assert [(len(page.events), page.more) for page in pages] == [(PAGE, True), (PAGE, True), (1, False), (0, False)]
    assert [event.type for page in pages for event in page.events] == [f"a{n}" for n in range(1, PAGE * 2 + 2)]


def test_a_long_event_is_cut_and_the_next_is_found(tmp_path: Path) -> None:
    attempt = attempt_of(
        tmp_path, [b'{"type":"long","x":"' + b"y" * 3_000_000 + b'"}\n', b"no json\n", b'{"type":"torn']
    )
    long, noise, torn = raw_page(attempt, 1, Masker(), chosen=1).events
    assert (long.type, long.size, noise.type, torn.text) == ("long", 3_000_023, "", '{"type":"torn')
    assert long.cut == long.size - len(long.text)


@pytest.mark.parametrize("pad", [*range(3990, 4001), 0])
def test_secrets_and_headers_are_masked_wherever_a_text_is_cut(tmp_path: Path, pad: int) -> None:
    masker = Masker([SECRET])
    lines = encoded(
        {"type": "x", "pad": "p" * max(pad - 20, 0), "said": SECRET},
        {"type": "model_changed", "model": {"provider": "a", "id": "b", "headers": {"X": "hush-hush-hush"}}},
        message(f"the key is {SECRET}"),
        {**tool_start("1"), "args": {"command": f"curl -H {SECRET}"}},
        {**tool_end("1"), "result": {"content": [{"type": "text", "text": SECRET}]}},
    )
    attempt = attempt_of(tmp_path, lines)
    shown = [event.text for event in raw_page(attempt, 1, masker).events]
    bodies = read_bodies(attempt, tell(attempt).entries, masker)
    shown += [piece.text for body in bodies for piece in body.pieces]
    assert not any("sk-a-key" in text or "hush" in text for text in shown)
    assert sum(MASK in text for text in shown) >= 5


def test_no_stream_is_said(tmp_path: Path) -> None:
    attempt = attempt_of(tmp_path, [])
    (attempt.path / "stream.jsonl.zst").unlink()
    assert tell(attempt).problem
    assert raw_page(attempt, 1, Masker()).problem
