"""What is a record, what is passed over, and what is noise, torn or damage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from atomic.framing import Damage, Framer, Record, StreamStats, decode, read_with

RECORDINGS = Path(__file__).parent.parent / "recordings"
MANIFEST = json.loads((RECORDINGS / "manifest.json").read_bytes())
UPDATE = b'{"type":"message_update","assistantMessageEvent":{"type":"text_delta","delta":"hi"}}\n'
SETTLED = b'{"type":"agent_settled"}\n'


def read(stream: bytes, **options: Any) -> tuple[list[Record], StreamStats]:
    framer = Framer(**options)
    return framer.feed(stream) + framer.close(), framer.stats


def types(stream: bytes, **options: Any) -> list[str]:
    return [record.type for record in read(stream, **options)[0]]


@pytest.mark.parametrize("entry", MANIFEST, ids=lambda entry: entry["stream"])
def test_recordings_have_the_records_that_clients_wrote(entry: dict[str, Any]) -> None:
    framer = Framer()
    records = list(read_with(framer, RECORDINGS / entry["stream"]))
    assert (framer.stats.records, framer.stats.noise) == (entry["expect"]["records"], entry["expect"]["noise"])
    assert sum(framer.stats.counts.values()) == framer.stats.records
    assert any(record.type == "agent_settled" for record in records) == entry["expect"]["settled"]


def test_updates_are_counted_and_the_first_one_found() -> None:
    records, stats = read(b'{"type":"agent_start"}\n' + UPDATE * 1000 + SETTLED)
    assert [record.type for record in records] == ["agent_start", "agent_settled"]
    assert (stats.updates, stats.counts["message_update"], stats.records, stats.lines) == (1000, 1000, 1002, 1002)
    assert stats.first_update_offset == 23
    assert records[-1].line == 1002


def test_ends_of_turns_and_agents_keep_their_place_without_their_bodies() -> None:
    stream = (
        b'{"type":"turn_end","message":{"role":"assistant"},"toolResults":[]}\n{"type":"agent_end","messages":[1]}\n'
    )
    records, _ = read(stream)
    assert [(record.data, record.clipped) for record in records] == [
        ({"type": "turn_end"}, True),
        ({"type": "agent_end"}, True),
    ]
    assert records[1].offset == stream.index(b'{"type":"agent_end"')


def test_subscribed_types_are_returned_whole() -> None:
    stream = UPDATE + b'{"type":"agent_end","messages":[1]}\n' + b'{"type":"turn_end","x":1}\n'
    records, stats = read(stream, subscribe=["message_update", "agent_end"])
    assert [(record.type, record.clipped) for record in records] == [
        ("message_update", False),
        ("agent_end", False),
        ("turn_end", True),
    ]
    assert records[0].data["assistantMessageEvent"]["delta"] == "hi"
    assert stats.updates == 1


def test_keep_all_returns_every_record_whole() -> None:
    stream = UPDATE * 3 + b'{"type":"tool_execution_update","toolCallId":"a"}\n{"type":"turn_end","x":1}\n'
    records, _ = read(stream, keep_all=True)
    assert [record.data for record in records] == [json.loads(line) for line in stream.splitlines()]


@pytest.mark.parametrize(
    "line",
    [
        b'{"id":1,"type":"message_update"}\n',
        b' {"type": "message_update", "x": 1}\n',
        b'{"type":"message_update","x":1}\r\n',
        b'{"type":"message_update"}\n',
        b'{"type":"message\\u005fupdate"}\n',
    ],
)
def test_updates_written_otherwise_are_updates(line: bytes) -> None:
    records, stats = read(line)
    assert records == []
    assert (stats.updates, stats.records, stats.noise) == (1, 1, 0)


def test_unknown_types_and_objects_without_type_are_records() -> None:
    assert types(b'{"type":"new_thing","x":{"type":"message_update"}}\n{"x":1}\n{"type":7}\n') == ["new_thing", "", ""]


@pytest.mark.parametrize(
    "line", [b"npm warn", b"[1,2]", b"7", b"null", b'"text"', b"{", b'{"type":"agent_start"', b"\xff"]
)
def test_what_is_no_object_is_noise_and_the_next_line_is_read(line: bytes) -> None:
    records, stats = read(line + b"\n" + SETTLED)
    assert [(record.type, record.line) for record in records] == [("agent_settled", 2)]
    assert stats.noise == 1
    assert (stats.noise_samples[0].text, stats.noise_samples[0].offset) == (line, 0)


def test_few_samples_of_noise_are_kept_and_short() -> None:
    _, stats = read((b"x" * 5000 + b"\n") * 100)
    assert stats.noise == 100
    assert sum(len(sample.text) for sample in stats.noise_samples) < 2000


def test_nesting_without_end_is_noise() -> None:
    records, stats = read(b'{"x":' + b"[" * 200_000 + b"\n" + SETTLED)
    assert [record.type for record in records] == ["agent_settled"]
    assert stats.noise == 1


def test_blank_lines_are_lines_and_nothing_else() -> None:
    records, stats = read(b"\n\r\n  \n" + SETTLED)
    assert (records[0].line, stats.lines, stats.noise, stats.records) == (4, 4, 0, 1)


def test_separators_of_unicode_inside_strings_do_not_tear() -> None:
    text = "one\u2028two\u2029three\u0085four"
    line = json.dumps({"type": "message_end", "message": {"text": text}}, ensure_ascii=False).encode() + b"\n"
    records, _ = read(line)
    assert records[0].data["message"]["text"] == text


def test_lone_surrogates_and_nul_escapes_are_read() -> None:
    records, stats = read(b'{"type":"message_end","text":"\\ud800\\u0000"}\n')
    assert records[0].data["text"] == "\ud800\0"
    assert stats.damage == []


def test_byte_order_mark_is_no_part_of_the_record() -> None:
    stream = b"\xef\xbb\xbf" + SETTLED
    (record,), stats = read(stream)
    assert stream[record.offset :] == SETTLED
    assert stats.noise == 0


def test_torn_last_line_is_reported_and_is_no_noise() -> None:
    records, stats = read(SETTLED + b'{"type":"message_end","mess')
    assert (len(records), stats.torn, stats.noise, stats.lines) == (1, 27, 0, 2)


@pytest.mark.parametrize("line", [SETTLED, UPDATE, b'{"type":"agent_end","messages":[]}\n'])
def test_whole_last_line_without_its_end_is_a_record(line: bytes) -> None:
    _, stats = read(line.rstrip())
    assert (stats.records, stats.torn, stats.lines) == (1, 0, 1)


def test_torn_update_that_ends_in_a_brace_is_torn() -> None:
    _, stats = read(b'{"type":"message_update","usage":{"input":1}')
    assert (stats.records, stats.torn) == (0, 44)


@pytest.mark.parametrize(
    "torn",
    [
        b'{"type":"mess',
        b'{"type":"message_update","usage":{"inp',
        b'{"type":"message_end","message":{"content":[{"type":"text","text":"hi"}',
        b"downloading 99%",
        UPDATE[:-1],
    ],
)
def test_record_written_right_behind_a_cut_one_is_found(torn: bytes) -> None:
    stream = UPDATE + torn + b'{"type":"message_end","message":{"x":1}}\n' + SETTLED
    records, stats = read(stream)
    assert [record.type for record in records] == ["message_end", "agent_settled"]
    assert stream[records[0].offset :].startswith(b'{"type":"message_end","message":{"x":1}}')
    assert records[0].line == 2
    assert stats.updates == (2 if torn == UPDATE[:-1] else 1)


def test_pieces_of_a_broken_record_do_not_pass_for_records() -> None:
    assert types(b'{"type":"message_end","message":{"content":[{"type":"text","text":"hi"}\n') == []


def test_cut_update_with_its_line_end_hides_nothing() -> None:
    records, stats = read(UPDATE * 500 + b'{"type":"message_update","usage":{"input\n' + UPDATE * 500 + SETTLED)
    assert [record.type for record in records] == ["agent_settled"]
    assert (stats.updates, stats.noise) == (1000, 1)


def test_block_of_nul_bytes_is_damage_and_the_rest_is_read() -> None:
    stream = UPDATE + b"\0" * 4096 + b'{"type":"agent_start"}\n{"type":"mess' + b"\0" * 10 + SETTLED + b"\0" * 7
    records, stats = read(stream)
    assert [record.type for record in records] == ["agent_start", "agent_settled"]
    assert stats.damage == [
        Damage(len(UPDATE), 4096),
        Damage(len(UPDATE) + 4096 + 36, 10),
        Damage(len(stream) - 7, 7),
    ]
    assert stats.noise == 1


def test_damage_inside_an_update_hides_nothing() -> None:
    records, stats = read(UPDATE * 300 + UPDATE[:60] + b"\0" * 512 + b'{"type":"message_end"}\n' + UPDATE * 300)
    assert [record.type for record in records] == ["message_end"]
    assert (stats.updates, len(stats.damage)) == (600, 1)


def test_lines_have_no_limit() -> None:
    text = "x" * 3_000_000
    line = json.dumps({"type": "message_end", "message": {"role": "assistant", "content": text}}).encode() + b"\n"
    framer = Framer()
    chunks = [line[start : start + 65_536] for start in range(0, len(line), 65_536)]
    (record,) = [record for chunk in chunks for record in framer.feed(chunk)]
    assert record.data["message"]["content"] == text
    assert not record.clipped


@pytest.mark.parametrize("line", [b"[]", b"1", b"nul", b"", b"\xff"])
def test_decode_refuses_what_is_no_object(line: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any message
        decode(line)
