"""However the bytes are cut into chunks, the records and the counts are the same."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from atomic.framing import Framer, Record, StreamStats

UPDATE = b'{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"hi"}}\n'
ODD_LINES = [
    UPDATE,
    UPDATE * 40,
    b'{"type":"message_update"}\n',
    b'{"type":"message_update","usage":{"input":1}\n',  # cut, with LF
    b'{"type":"message_update","usage":{"inp',  # cut, the next line glues to it
    b'{"type":"message_updates","x":1}\n',
    b'{"type":"message_update" ,"x":1}\n',
    b'{"type":"message_update","type":"agent_settled"}\n',
    b'{"id":1,"type":"message_update"}\n',
    b' {"type":"agent_settled"}\r\n',
    b'\xef\xbb\xbf{"type":"session","version":3}\n',
    b'{"type":"turn_end","message":{}}\n',
    b'{"type":"agent_end","messages":[]}\n',
    b'{"type":"agent_end","messages":[',
    b'{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"\xe2\x80\xa8\xc2\x85"}]}}\n',
    b'{"type":"message_end","message":{"role":"assistant","text":"\\ud800 \\u0000"}}\n',
    b'{"type":"tool_execution_update","partialResult":{"content":[]}}\n',
    b'{"type":"tool_execution_end","toolCallId":"a","result":{"x":"' + b"y" * 70_000 + b'"},"isError":false}\n',
    b'{"type":"tool_execution_end","toolCallId":"a","result":{"x":"' + b"\\" * 1_100_000 + b'"},"isError":true}\n',
    b'{"type":"turn_end","message":{"x":"' + b"y" * 70_000 + b'"}}\n',
    b'{"type":"message_update","message":{"x":"' + b"y" * 70_000 + b'"}}\n',
    b'{"type":"message_update","message":{"x":"' + b"y" * 70_000 + b"\n",
    b"npm warn " * 20_000 + b"\n",
    b"debug: on",
    b"[1,2]\n",
    b"null\n",
    b"\n",
    b"\r\n",
    b"\0",
    b"\0" * 3000,
    b"\xff\xfe\n",
    b"}\n",
    b'{"type":7}\n',
]

streams = st.lists(st.one_of(st.sampled_from(ODD_LINES), st.binary(max_size=30)), max_size=25).map(b"".join)


def read(chunks: list[bytes], *, keep_all: bool = False) -> tuple[list[Record], StreamStats]:
    framer = Framer(keep_all=keep_all)
    records = [record for chunk in chunks for record in framer.feed(chunk)]
    return records + framer.close(), framer.stats


def cut(stream: bytes, places: list[float]) -> list[bytes]:
    borders = [0, *sorted(int(place * len(stream)) for place in places), len(stream)]
    return [stream[start:end] for start, end in pairwise(borders)]


@settings(max_examples=150, deadline=None)
@given(streams, st.lists(st.floats(0, 1), max_size=12), st.booleans())
@example(UPDATE + b'{"type":"message_update","a":{' + b'{"type":"message_end"}\n', [0.5], False)
@example(b"\0\0\0" + UPDATE + b"\0", [0.01, 0.02, 0.99], False)
def test_cuts_change_nothing(stream: bytes, places: list[float], keep_all: bool) -> None:
    assert read(cut(stream, places), keep_all=keep_all) == read([stream], keep_all=keep_all)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 4096])
def test_small_chunks_change_nothing(size: int) -> None:
    stream = b"".join(line for line in ODD_LINES if len(line) < 10_000)
    chunks = [stream[start : start + size] for start in range(0, len(stream), size)]
    assert read(chunks) == read([stream])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([line for line in ODD_LINES if len(line) < 200]), min_size=1, max_size=4), st.data())
def test_odd_lines_among_many_short_ones(odd: list[bytes], data: st.DataObject) -> None:
    """Thousands of short lines are looked at together: what stands among them is found all the same."""
    stream = b"".join(UPDATE * data.draw(st.integers(0, 900)) + line for line in odd) + UPDATE * 300
    chunks = [stream[start : start + 40_000] for start in range(0, len(stream), 40_000)]
    assert read(chunks) == read([stream]) == read([stream[:1], stream[1:]])


json_text = st.text(st.characters(codec=None, exclude_categories=()), max_size=20)  # lone surrogates too
objects = st.dictionaries(
    json_text, st.recursive(json_text | st.integers() | st.none(), st.lists, max_leaves=4), max_size=3
)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["agent_start", "message_end", "odd", "turn_start"]), objects)), st.booleans()
)
def test_what_was_written_is_read(written: list[tuple[str, dict[str, object]]], raw: bool) -> None:
    """As JavaScript writes it: everything beyond ASCII as it is, lone surrogates escaped."""
    data = [fields | {"type": name} for name, fields in written]
    lines = [as_javascript(item) if raw else json.dumps(item).encode() for item in data]
    stream = b"".join(line + b"\n" for line in lines)
    records, stats = read([stream])
    assert [record.data for record in records] == data
    assert [stream[record.offset : record.offset + record.size] for record in records] == lines
    assert [record.line for record in records] == list(range(1, len(data) + 1))
    assert stats.noise == stats.torn == 0


def as_javascript(data: object) -> bytes:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return "".join(f"\\u{ord(c):04x}" if 0xD800 <= ord(c) < 0xE000 else c for c in text).encode()
