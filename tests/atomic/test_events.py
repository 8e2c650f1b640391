"""The wire as models: every record of every client is read, and nothing of it is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atomic.events import (
    AssistantMessage,
    BlockDelta,
    CompactionEnd,
    MessageEnd,
    MessageUpdate,
    ModelFallbackStart,
    TextBlock,
    ToolExecutionEnd,
    UnknownBlock,
    UnknownEvent,
    UnknownMessage,
    parse_event,
    read_events,
)
from atomic.events.reading import EVENTS
from atomic.framing import read_records
from atomic.framing.decode import WIRE_TYPES

RECORDINGS = sorted((Path(__file__).parent.parent / "recordings").glob("*/*.jsonl*"))


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_record_of_every_client_is_known_and_comes_back_unchanged(path: Path) -> None:
    data = [record.data for record in read_records(path, keep_all=True)]
    events = list(read_events(path))
    assert [event.to_wire() for event in events] == data
    assert [event for event in events if isinstance(event, UnknownEvent)] == []


def test_there_is_a_model_for_every_type_the_framer_knows() -> None:
    models = {name: parse_event({"type": name}) for name in WIRE_TYPES}
    assert len(EVENTS) == len(WIRE_TYPES)
    assert all(not isinstance(event, UnknownEvent) or event.problem for event in models.values())


USAGE = {"input": 1, "output": 2, "cost": {"total": 0.5}}
MESSAGE = {"role": "assistant", "content": [{"type": "text", "text": "hi"}], "usage": USAGE, "stopReason": "stop"}
PIECE = {"type": "text_delta", "contentIndex": 0, "delta": "hi"}


@pytest.mark.parametrize(
    "data",
    [
        {"type": "message_update", "assistantMessageEvent": PIECE | {"partial": MESSAGE}, "message": MESSAGE},
        {"type": "message_update", "assistantMessageEvent": PIECE},
        {"type": "message_update", "usage": USAGE, "endTurn": True, "assistantMessageEvent": PIECE},
    ],
    ids=["cumulative", "delta", "today"],
)
def test_all_three_forms_of_updates(data: dict[str, Any]) -> None:
    event = parse_event(data)
    assert isinstance(event, MessageUpdate)
    assert isinstance(event.assistant_message_event, BlockDelta)
    assert event.assistant_message_event.delta == "hi"
    assert (event.message is not None, event.usage is not None) == ("message" in data, "usage" in data)
    assert event.to_wire() == data


def test_absent_and_null_are_the_same_to_readers_and_kept_apart_on_the_way_back() -> None:
    absent = {"type": "compaction_end", "reason": "overflow"}
    null = absent | {"result": None, "errorMessage": None, "unresolvedOverflow": None}
    for data in (absent, null):
        event = parse_event(data)
        assert isinstance(event, CompactionEnd)
        assert (event.result, event.error_message, event.unresolved_overflow) == (None, None, None)
        assert event.to_wire() == data


def test_unknown_fields_blocks_and_roles_are_kept() -> None:
    block = {"type": "hologram", "z": [1, {"y": None}]}
    data = {"type": "message_end", "new": 1, "message": MESSAGE | {"content": [block], "later": {"a": 1}}}
    event = parse_event(data)
    assert isinstance(event, MessageEnd)
    assert isinstance(event.message, AssistantMessage)
    assert isinstance(event.message.content[0], UnknownBlock)
    assert event.to_wire() == data
    other = parse_event({"type": "message_end", "message": {"role": "oracle", "says": "42"}})
    assert isinstance(other, MessageEnd)
    assert isinstance(other.message, UnknownMessage)


def test_unknown_types_keep_the_whole_record() -> None:
    data = {"type": "new_thing", "x": 1}
    event = parse_event(data)
    assert isinstance(event, UnknownEvent)
    assert (event.type, event.data, event.problem, event.to_wire()) == ("new_thing", data, None, data)


@pytest.mark.parametrize("data", [{}, {"type": 7}, {"type": None, "x": 1}])
def test_records_without_type_are_unknown_events(data: dict[str, Any]) -> None:
    event = parse_event(data)
    assert isinstance(event, UnknownEvent)
    assert (event.type, event.to_wire()) == ("", data)


def test_known_type_with_odd_fields_is_an_unknown_event_that_says_what_is_odd() -> None:
    data = {"type": "tool_execution_end", "toolCallId": "a", "isError": "yes"}
    event = parse_event(data)
    assert isinstance(event, UnknownEvent)
    assert event.type == "tool_execution_end"
    assert event.problem is not None
    assert event.problem.startswith("isError: ")
    assert event.to_wire() == data


def test_fields_are_found_under_their_python_names() -> None:
    end = parse_event({"type": "tool_execution_end", "toolCallId": "a", "isError": False, "result": {"isError": True}})
    assert isinstance(end, ToolExecutionEnd)
    assert end.result is not None
    assert (end.tool_call_id, end.is_error, end.result.is_error) == ("a", False, True)
    hop = parse_event({"type": "model_fallback_start", "from": "a/x", "to": "b/y"})
    assert isinstance(hop, ModelFallbackStart)
    assert (hop.from_model, hop.to) == ("a/x", "b/y")


def test_lone_surrogates_are_text() -> None:
    data = {"type": "message_end", "message": MESSAGE | {"content": [{"type": "text", "text": "\ud800"}]}}
    event = parse_event(data)
    assert isinstance(event, MessageEnd)
    assert isinstance(event.message, AssistantMessage)
    block = event.message.content[0]
    assert isinstance(block, TextBlock)
    assert block.text == "\ud800"


fields_of_all = [item for model in EVENTS for item in model.model_fields.items()]
names = sorted({name for python, field in fields_of_all for name in (python, field.alias or python)})
odd_text = st.text(st.characters(codec=None, exclude_categories=()), max_size=5)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | odd_text | st.just(MESSAGE),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(odd_text | st.sampled_from(names), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(WIRE_TYPES)), st.dictionaries(st.sampled_from(names) | odd_text, values, max_size=5))
def test_no_record_raises_and_none_loses_a_field(name: str, fields: dict[str, Any]) -> None:
    data = fields | {"type": name}
    assert parse_event(data).to_wire() == data
