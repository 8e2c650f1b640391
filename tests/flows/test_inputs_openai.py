"""Lines of OpenAI's batch format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flows.inputs import Item, Problem, check, read_items

USER = {"role": "user", "content": "What is 2 + 2?"}


def line(custom_id: str = "a", **body: Any) -> dict[str, Any]:
    return {
        "custom_id": custom_id,
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {"model": "gpt-4o-mini", "messages": [USER], **body},
    }


def write(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in lines))
    return path


def test_messages_become_a_prompt(tmp_path: Path) -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Look:"}, {"type": "text", "text": "x = 1"}]},
        {"role": "user", "content": "What is x?"},
        {"role": "developer", "content": ""},
    ]
    path = write(tmp_path / "in.jsonl", line(messages=messages, metadata={"k": "v"}), {"id": "b", "prompt": "plain"})
    first, second = read_items(path)
    assert first == Item(
        "a", "Be brief.\n\nLook:\nx = 1\n\nWhat is x?", metadata={"k": "v"}, line=1, ignored=("body.model",)
    )
    assert isinstance(second, Item)
    assert second.prompt == "plain"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"messages": [USER, {"role": "assistant", "content": "4"}, USER]}, "body.messages[1].role"),
        ({"messages": [USER, {"role": "tool", "content": "4"}]}, "body.messages[1].role"),
        ({"messages": [{"role": "usr", "content": "4"}]}, "body.messages[0].role"),
        ({"messages": [{"role": "system", "content": "x"}]}, "body.messages"),
        ({"messages": []}, "body.messages"),
        ({"messages": "hello"}, "body.messages"),
        ({"messages": ["hello"]}, "body.messages[0]"),
        ({"messages": [{"role": "user", "content": None}]}, "body.messages[0].content"),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image_url"}]}]},
            "body.messages[0].content[1]",
        ),
        ({"messages": [{"role": "user", "content": ["x"]}]}, "body.messages[0].content[0]"),
        ({"tools": [{"type": "function"}]}, "body.tools"),
        ({"response_format": {"type": "json_object"}}, "body.response_format"),
        ({"n": 3}, "body.n"),
        ({"temprature": 1}, "body.temprature"),
    ],
)
def test_what_cannot_be_carried_over_is_told(tmp_path: Path, body: dict[str, Any], field: str) -> None:
    (problem,) = read_items(write(tmp_path / "in.jsonl", line(**body)))
    assert isinstance(problem, Problem)
    assert (problem.line, problem.field) == (1, field)


def test_what_asks_for_nothing_is_let_pass(tmp_path: Path) -> None:
    body: dict[str, Any] = {
        "tools": [],
        "n": 1,
        "response_format": {"type": "text"},
        "tool_choice": None,
        "temperature": 0.5,
    }
    (item,) = read_items(write(tmp_path / "in.jsonl", line(**body)))
    assert isinstance(item, Item)
    assert item.ignored == ("body.model", "body.temperature")
    assert item.models == ()


def test_what_is_passed_over_is_counted(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", line("a", temperature=1), line("b"))
    checked = check(path, known_policies=(), base_cwd=tmp_path)
    assert checked.ignored == {"body.model": 2, "body.temperature": 1}


def test_other_requests_are_refused_and_all_faults_told(tmp_path: Path) -> None:
    other = {**line(tools=[1]), "url": "/v1/embeddings", "method": "GET", "extra": 1}
    found = [entry.field for entry in read_items(write(tmp_path / "in.jsonl", other)) if isinstance(entry, Problem)]
    assert found == ["extra", "method", "url", "body.tools"]


def test_naming_the_format_demands_it(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", line(), {"custom_id": "b", "prompt": "x"})
    found = [entry.field for entry in read_items(path, format="openai") if isinstance(entry, Problem)]
    assert found == ["prompt", "body"]


def test_a_column_called_body_is_a_column(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", {"id": "a", "body": "Dear all", "url": "x"})
    (tmp_path / "t.j2").write_text("Sort this: {{ body }}")
    (item,) = read_items(path, template=tmp_path / "t.j2")
    assert isinstance(item, Item)
    assert item.prompt == "Sort this: Dear all"
