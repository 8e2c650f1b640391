"""The forms of an input: what they mean, and what is said of what they cannot mean."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from atomic.errors import PlaceError, UsageError
from flows.inputs import Item, Problem, read_items
from flows.inputs.fields import FIELDS

Write = Callable[[str, str | bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def items(path: Path, **how: object) -> list[Item]:
    read = list(read_items(path, **how))  # type: ignore[arg-type]
    assert not [entry.text for entry in read if isinstance(entry, Problem)]
    return [entry for entry in read if isinstance(entry, Item)]


def problems(path: Path, **how: object) -> list[Problem]:
    return [entry for entry in read_items(path, **how) if isinstance(entry, Problem)]  # type: ignore[arg-type]


def said(path: Path, **how: object) -> list[str]:
    """The problems without the folder that the test happens to run in."""
    return [problem.text.replace(f"{path.parent}{os.sep}", "") for problem in problems(path, **how)]


def test_a_line_of_json_says_all_that_an_item_can_say(write: Write, tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    write("prompts/long.md", "Read this\n")
    line = {
        "custom_id": "a",
        "prompt_file": "prompts/long.md",
        "policy": "night",
        "models": ["anthropic/claude-opus-4-5:high", "openrouter/x/y:free"],
        "cwd": "repo",
        "tags": ["one", "two"],
        "metadata": {"ticket": 4711, "deep": [None, {"x": 1.5}]},
    }
    path = write("in.jsonl", json.dumps(line) + "\n")
    (item,) = items(path)
    assert item == Item(
        custom_id="a",
        prompt=None,
        prompt_file=tmp_path / "prompts/long.md",
        policy="night",
        models=("anthropic/claude-opus-4-5:high", "openrouter/x/y:free"),
        cwd=tmp_path / "repo",
        tags=("one", "two"),
        metadata={"ticket": 4711, "deep": [None, {"x": 1.5}]},
        line=1,
    )
    assert item.prompt_bytes() == b"Read this\n"


def test_only_a_line_feed_ends_a_line(write: Write) -> None:
    text = "one\u2028two\u2029three\x85four\x0bfive\x0csix"
    first = json.dumps({"id": "a", "prompt": text}, ensure_ascii=False)
    path = write("in.jsonl", f'\ufeff{first}\r\n\r\n   \n{{"id": "b", "prompt": "last, without a line feed"}}')
    assert [(item.custom_id, item.prompt, item.line) for item in items(path)] == [
        ("a", text, 1),
        ("b", "last, without a line feed", 4),
    ]
    assert [item.prompt for item in items(write("in.txt", f"\ufeff{text}\r\nnext\n"))] == [text, "next"]


def test_a_line_of_megabytes_is_a_line(write: Write) -> None:
    long = "word " * 2_000_000
    path = write("in.jsonl", json.dumps({"id": "a", "prompt": long}) + '\n{"id": "b", "prompt": "short"}\n')
    assert [len(item.prompt or "") for item in items(path)] == [len(long), 5]
    assert len(items(write("in.csv", f'prompt\n"{long}"\n'))[0].prompt or "") == len(long)


def test_items_without_an_id_are_named_by_their_place(write: Write) -> None:
    assert [item.custom_id for item in items(write("a.jsonl", '{"prompt": "x"}\n\n{"id": 7, "prompt": "y"}\n'))] == [
        "line-1",
        "7",
    ]
    assert [item.custom_id for item in items(write("a.txt", "x\n\ny\n"))] == ["line-1", "line-3"]
    assert [item.custom_id for item in items(write("a.csv", 'prompt\n"x\nx"\ny\n'))] == ["row-1", "row-2"]
    assert [item.custom_id for item in items(write("a.yaml", "- prompt: x\n- prompt: y\n"))] == ["item-1", "item-2"]


def test_broken_lines_are_all_told_with_their_places(write: Write) -> None:
    lines = [
        b'{"id": "a", "prompt": "x"',
        b'["not", "an", "object"]',
        b'{"id": "b", "prompt": "\xff"}',
        b'{"id": "c", "prompt": "\\ud83d"}',
        b"nothing like JSON",
        b'{"id": "ok", "prompt": "fine"}',
        b"[" * 5000,
    ]
    path = write("in.jsonl", b"\n".join(lines))
    assert said(path) == [
        "in.jsonl:1: it is no JSON: expecting ',' delimiter at column 26",
        'in.jsonl:2: expected an object, as in {"custom_id": "a", "prompt": "…"}',
        "in.jsonl:3: it is no UTF-8 text: it holds the byte 0xff",
        "in.jsonl:4: prompt: the prompt holds half a character at position 0: it cannot be sent as UTF-8",
        "in.jsonl:5: it is no JSON: expecting value at column 1",
        "in.jsonl:7: it is no JSON: nested too deeply",
    ]


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({}, "prompt", "missing"),
        ({"prompt": "x", "prompt_file": "in.jsonl"}, "prompt_file", "keep one"),
        ({"prompt": ""}, "prompt", "empty"),
        ({"prompt": " \u2028\n\t\ufeff"}, "prompt", "empty"),
        ({"prompt": 5}, "prompt", "expected text, found a whole number"),
        ({"prompt": "a\0b"}, "prompt", "no UTF-8 text"),
        ({"prompt": "/compact"}, "prompt", "begins with '/'"),
        ({"prompt_file": "nowhere.md"}, "prompt_file", "no such file"),
        ({"prompt_file": "."}, "prompt_file", "no ordinary file"),
        ({"prompt_file": "picture.png"}, "prompt_file", "no UTF-8"),
        ({"prompt_file": "a\0b"}, "prompt_file", "no such file"),
        ({"prompt_file": "x" * 5000}, "prompt_file", "too long"),
        ({"prompt_file": ["a"]}, "prompt_file", "found a list"),
        ({"prompt": "x", "custom_id": ""}, "custom_id", "empty"),
        ({"prompt": "x", "custom_id": " a"}, "custom_id", "blanks at its ends"),
        ({"prompt": "x", "custom_id": "a\x1b[31m"}, "custom_id", "control codes"),
        ({"prompt": "x", "custom_id": "a" * 513}, "custom_id", "at most 512"),
        ({"prompt": "x", "custom_id": True}, "custom_id", "found true or false"),
        ({"prompt": "x", "custom_id": 1.5}, "custom_id", "found a number"),
        ({"prompt": "x", "id": "a", "custom_id": "b"}, "id", "keep one"),
        ({"prompt": "x", "policy": 3}, "policy", "expected text"),
        ({"prompt": "x", "models": "a/b"}, "models", "expected a list of texts, found text"),
        ({"prompt": "x", "models": ["a/b", 3]}, "models", "found a list with a whole number in it"),
        ({"prompt": "x", "models": ["gpt-5"]}, "models", "no provider"),
        ({"prompt": "x", "models": ["a/b", "a/b"]}, "models", "twice"),
        ({"prompt": "x", "cwd": "nowhere"}, "cwd", "no such folder"),
        ({"prompt": "x", "cwd": "picture.png"}, "cwd", "not a folder"),
        ({"prompt": "x", "cwd": "~nobody-of-this-name/x"}, "cwd", "no path"),
        ({"prompt": "x", "tags": ["ok", " "]}, "tags", "blank"),
        ({"prompt": "x", "metadata": ["a"]}, "metadata", "expected a table, found a list"),
        ({"prompt": "x", "metadata": {"n": float("nan")}}, "metadata", "NaN"),
        ({"prompt": "x", "metadata": {"n": "\ud800"}}, "metadata", "cannot be written"),
    ],
)
def test_what_cannot_be_run_is_told(write: Write, fields: dict[str, object], field: str, message: str) -> None:
    write("picture.png", b"\x89PNG\r\n\x1a\n\x00\xff")
    (problem,) = problems(write("in.jsonl", "\n" + json.dumps(fields)))
    assert (problem.line, problem.field) == (2, field)
    assert message in problem.text


def test_an_unknown_field_names_the_one_that_is_meant(write: Write) -> None:
    path = write("in.jsonl", '{"promt": "x"}\n{"prompt": "x", "temperature": 1}\n')
    assert said(path) == [
        "in.jsonl:1: promt: unknown field; did you mean 'prompt'?",
        "in.jsonl:1: prompt: it is missing; give a prompt or a prompt_file",
        f"in.jsonl:2: temperature: unknown field; known here: {', '.join(FIELDS)}",
    ]


def test_commands_of_the_agent_are_let_through_when_they_are_meant(write: Write) -> None:
    path = write("in.txt", "/compact\n")
    assert len(problems(path)) == 1
    assert [item.prompt for item in items(path, slash=True)] == ["/compact"]


def test_null_and_empty_lists_say_nothing(write: Write) -> None:
    path = write("in.jsonl", '{"id": "a", "prompt": "x", "models": [], "cwd": null, "metadata": null, "tags": []}')
    assert items(path) == [Item("a", "x")]


def test_paths_lead_from_the_folder_of_the_input(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("here/ünïcode 'x'.md", "text")
    path = write("here/sub/in.jsonl", json.dumps({"id": "a", "prompt_file": "../ünïcode 'x'.md", "cwd": ".."}))
    monkeypatch.chdir(tmp_path)
    (item,) = items(Path("here/sub/in.jsonl"))
    assert (item.prompt_file, item.cwd) == (tmp_path / "here/ünïcode 'x'.md", tmp_path / "here")
    assert items(path) == [item]
    monkeypatch.setenv("HOME", str(tmp_path))
    (item,) = items(write("in.jsonl", '{"prompt": "x", "cwd": "~/here"}'))
    assert item.cwd == tmp_path / "here"


def test_a_table_has_cells_of_many_lines_and_knows_the_right_one(write: Write) -> None:
    table = (
        "custom_id, prompt ,models,tags,metadata,policy\r\n"
        'a,"one\r\ntwo, ""three""\r\n",a/b c,"x, y","{""n"": 1}",\r\n'
        "\r\n"
        'b,plain,"a/b, c/d:high","[""x,y""]",,night\r\n'
        "c,/no,,,,\r\n"
    )
    path = write("in.csv", table.replace("a/b c,", "a/b,"))
    read = list(read_items(path))
    assert read[:2] == [
        Item("a", 'one\r\ntwo, "three"\r\n', models=("a/b",), tags=("x", "y"), metadata={"n": 1}, line=2),
        Item("b", "plain", policy="night", models=("a/b", "c/d:high"), tags=("x,y",), line=6),
    ]
    assert isinstance(read[2], Problem)
    assert (read[2].line, read[2].field) == (7, "prompt")


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("id,promt\na,x\n", ["in.csv:1: promt: unknown field; did you mean 'prompt'?", "in.csv:1: the header names"]),
        ("id;prompt\na;x\n", ["in.csv:1: id;prompt: unknown field", "in.csv:1: the header names neither"]),
        ("id,prompt,id\na,x,b\n", ["in.csv:1: the header names 'id' 2 times"]),
        ("id,,prompt\na,,x\n", ["in.csv:1: a column of the header has no name"]),
        ("id,prompt\na\nb,x,y\nc,z\n", ["in.csv:2: it has 1 cells where the header names 2", "in.csv:3: it has 3"]),
        ('id,prompt\na,"never\nclosed\n', ["in.csv:2: it is no CSV: unexpected end of data"]),
        ('id,prompt\na,"x"y\nb,"x"\n', ["in.csv:2: it is no CSV"]),
        ("id,prompt,metadata\na,x,{oops\n", ["in.csv:2: metadata: it is no JSON"]),
        ("id,prompt,metadata\na,x," + "[" * 9999 + "\n", ["in.csv:2: metadata: it is no JSON: nested too deeply"]),
        ("id,prompt,models\na,x,gpt-5\n", ["in.csv:2: models: 'gpt-5' does not name a model"]),
        ("id,prompt\na,\n", ["in.csv:2: prompt: it is missing"]),
    ],
)
def test_what_is_wrong_with_a_table_is_told(write: Write, table: str, expected: list[str]) -> None:
    found = said(write("in.csv", table))
    assert len(found) == len(expected)
    for text, start in zip(found, expected, strict=True):
        assert text.startswith(start)


def test_a_table_in_another_encoding_is_told(write: Write) -> None:
    assert said(write("in.csv", b"id,prompt\na,caf\xe9\nb,fine\n")) == [
        "in.csv:2: prompt: it is no UTF-8 text: it holds the byte 0xe9"
    ]
    for name in ("in.csv", "in.txt", "in.jsonl", "in.yaml"):
        assert said(write(name, "id,prompt\na,x\n".encode("utf-16"))) == [
            f"{name}:1: it is UTF-16 text; write it as UTF-8"
        ]
    assert said(write("in.txt", b"fine\ncaf\xe9\n")) == [
        "in.txt:2: prompt: it is no UTF-8 text: it holds the byte 0xe9"
    ]
    assert "it is no YAML" in said(write("in.yaml", b"- prompt: caf\xe9\n"))[0]


def test_yaml_has_defaults_and_items(write: Write, tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    path = write(
        "in.yaml",
        """\
        defaults: {policy: night, cwd: repo, tags: [a]}
        items:
          - custom_id: one
            prompt: |
              Several
              lines
          - custom_id: two
            policy: day
            tags: null
            prompt: x
        """.replace("\n        ", "\n").removeprefix("        "),
    )
    assert items(path) == [
        Item("one", "Several\nlines\n", policy="night", cwd=tmp_path / "repo", tags=("a",), line=3),
        Item("two", "x", policy="day", cwd=tmp_path / "repo", line=7),
    ]


def test_yaml_takes_for_text_what_people_mean_as_text(write: Write) -> None:
    text = "- {id: no, prompt: 1:30, metadata: {a: yes, b: 007, c: 2026-01-01, d: 12, e: true, f: 1.5, g: , 1: 0x1f}}\n"
    (item,) = items(write("in.yaml", text))
    assert (item.custom_id, item.prompt) == ("no", "1:30")
    assert item.metadata == {
        "a": "yes",
        "b": "007",
        "c": "2026-01-01",
        "d": 12,
        "e": True,
        "f": 1.5,
        "g": None,
        "1": "0x1f",
    }


def test_yaml_has_anchors_and_merges(write: Write) -> None:
    text = "- &first {id: a, prompt: &p hello, tags: [x]}\n- {<<: *first, id: b}\n- {id: c, prompt: *p}\n"
    assert [(item.custom_id, item.prompt, item.tags) for item in items(write("in.yaml", text))] == [
        ("a", "hello", ("x",)),
        ("b", "hello", ("x",)),
        ("c", "hello", ()),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- id: a\n  prompt: x\n  id: b\n", "in.yaml:3: it is no YAML: the key 'id' is there twice"),
        ("- id: a\n  prompt: [x\n", "in.yaml:"),
        ("- hello\n", "in.yaml:1: expected an item"),
        ("just text\n", "in.yaml:1: expected a list of items"),
        ("items: 5\n", "in.yaml:1: items: expected a list"),
        ("defaults: {policy: x}\n", "in.yaml: items: it is missing"),
        ("items: []\ndefaults: {}\n", "in.yaml:2: defaults: they come before the items"),
        ("defaults: [a]\nitems: []\n", "in.yaml:1: defaults: expected a mapping"),
        ("default: {}\nitems: []\n", "in.yaml:1: default: unknown field; did you mean 'defaults'?"),
        ("defaults: {custom_id: a}\nitems: []\n", "in.yaml:1: custom_id: unknown field; known here: policy, models"),
        ("items: []\nitems: []\n", "in.yaml:2: items: it is there twice"),
        ("- {id: a, prompt: x}\n---\n- {id: b, prompt: x}\n", "in.yaml:2: a second document begins"),
        ("- !!python/object/apply:os.system [ls]\n", "in.yaml:1: it is no YAML: the tag"),
        ("- {id: a, prompt: x, metadata: &m {again: *m}}\n", "in.yaml:1: it is no YAML: the alias *m has no anchor"),
        ("- {id: a, prompt: *nowhere}\n", "in.yaml:1: it is no YAML: the alias *nowhere"),
        ("- {[a]: b}\n", "in.yaml:1: it is no YAML: a key is no text"),
        ("[a]: b\n", "in.yaml:1: it is no YAML: a key is no text"),
        ("- " + "[" * 3000 + "]" * 3000, "in.yaml:1: it is no YAML: exceeded maximum nesting depth"),
        ("- " + "[" * 800 + "]" * 800, "in.yaml: an item is nested too deeply"),
        (f"- {{id: a, prompt: x, metadata: {{n: {2**70}}}}}\n", "in.yaml:1: metadata: it cannot be written as JSON"),
        ("- {id: a, prompt: x, <<: 5}\n", "in.yaml:1: it is no YAML: only a mapping can be merged"),
    ],
)
def test_what_is_wrong_with_yaml_is_told(write: Write, text: str, expected: str) -> None:
    found = said(write("in.yaml", text))
    assert len(found) == 1
    assert found[0].startswith(expected)


def test_aliases_that_multiply_are_refused(write: Write) -> None:
    levels = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    path = write("in.yaml", "- id: a\n  prompt: x\n  metadata:\n    " + "\n    ".join(levels) + "\n")
    (found,) = said(path)
    assert "aliases repeat more than an item can hold" in found


@pytest.mark.parametrize("how", [{}, {"format": "jsonl"}], ids=["unnamed", "named"])
@pytest.mark.parametrize("name", ["-", "/dev/null", "pipe"])
def test_what_can_be_read_only_once_is_no_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, how: dict[str, str]
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    with pytest.raises(PlaceError, match=f"cannot read {name}: it is no ordinary file") as caught:
        list(read_items(Path(name), **how))  # type: ignore[arg-type]
    assert "to a file first" in str(caught.value.hint)


def test_the_format_is_told_by_the_suffix_or_by_name(write: Write) -> None:
    assert items(write("in.NDJSON", '{"id": "a", "prompt": "x"}'))[0].custom_id == "a"
    path = write("in.data", "x\n")
    with pytest.raises(UsageError, match="cannot tell the format") as caught:
        list(read_items(path))
    assert "jsonl" in str(caught.value.hint)
    assert items(path, format="text")[0].prompt == "x"
    with pytest.raises(UsageError, match="did you mean 'jsonl'"):
        list(read_items(path, format="json"))


def test_what_is_no_file_is_no_input(tmp_path: Path) -> None:
    (tmp_path / "folder.txt").mkdir()
    os.mkfifo(tmp_path / "pipe.txt")
    for name, reason in (("folder.txt", "folder"), ("pipe.txt", "more than once"), ("none.txt", "no such file")):
        with pytest.raises(PlaceError, match=reason):
            list(read_items(tmp_path / name))


def test_the_digest_is_of_prompt_folder_and_flags(tmp_path: Path) -> None:
    file = tmp_path / "p.md"
    file.write_text("x")

    def digest(item: Item, cwd: Path = tmp_path, *agent: str) -> str:
        return item.digest(cwd=cwd, agent=agent)

    one = digest(Item("a", "x"))
    assert one == digest(Item("other", "x", policy="p", models=("a/b",), tags=("t",), metadata={"m": 1}, line=9))
    assert one == digest(Item("a", None, file))
    assert one == digest(Item("a", "x", cwd=tmp_path), Path("/elsewhere"))
    others = [
        digest(Item("a", "y")),
        digest(Item("a", "x"), Path("/elsewhere")),
        digest(Item("a", "x"), tmp_path, "--flag"),
        digest(Item("a", "x"), tmp_path, "--fl", "ag"),
        digest(Item("a", "x"), tmp_path, "--flag", ""),
    ]
    assert len({one, *others}) == len(others) + 1
