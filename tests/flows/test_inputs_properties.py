"""Properties: items written in any form are read back as they were, and no bytes are read into a traceback."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from atomic.runner.prompt import read_prompt
from flows.inputs import Item, Problem, check, read_items
from flows.inputs.source import FORMATS

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
WORD = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=12)
LABEL = st.lists(WORD, min_size=1, max_size=3).map(" ".join)


def sound(prompt: str) -> bool:
    try:
        return bool(read_prompt(prompt))
    except Exception:
        return False


PROMPT = TEXT.filter(sound)
MODEL = st.sampled_from(["anthropic/claude-opus-4-5:high", "openai/gpt-5.2", "openrouter/x/y:free", "a/b"])
NUMBER = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUE: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | NUMBER | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.fixed_dictionaries(
    {"custom_id": LABEL, "prompt": PROMPT},
    optional={
        "policy": LABEL,
        "models": st.lists(MODEL, min_size=1, unique=True),
        "tags": st.lists(LABEL, min_size=1, max_size=3),
        "metadata": st.dictionaries(TEXT, VALUE, min_size=1, max_size=3),
    },
)
ROWS = st.lists(FIELDS, min_size=1, max_size=6, unique_by=lambda row: str(row["custom_id"]))


def facts(item: Item) -> dict[str, Any]:
    found = {
        "custom_id": item.custom_id,
        "prompt": item.prompt,
        "policy": item.policy,
        "models": list(item.models),
        "tags": list(item.tags),
        "metadata": item.metadata,
    }
    return {name: value for name, value in found.items() if value}


def as_jsonl(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def as_csv(rows: list[dict[str, Any]]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, names)
    writer.writeheader()
    for row in rows:
        writer.writerow({name: value if isinstance(value, str) else json.dumps(value) for name, value in row.items()})
    return out.getvalue()


def as_yaml(rows: list[dict[str, Any]]) -> str:
    text: str = yaml.safe_dump(rows)  # what YAML 1.1 takes for line ends, U+0085 and U+2028, is written as escapes
    return text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("inputs")


@pytest.mark.parametrize(("suffix", "written"), [("jsonl", as_jsonl), ("csv", as_csv), ("yaml", as_yaml)])
@given(rows=ROWS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_items_come_back_as_they_were_written(folder: Path, suffix: str, written: Any, rows: list[Any]) -> None:
    path = folder / f"in.{suffix}"
    path.write_bytes(written(rows).encode())
    read = list(read_items(path))
    assert not [entry.text for entry in read if isinstance(entry, Problem)]
    assert [facts(entry) for entry in read if isinstance(entry, Item)] == rows


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@given(prompts=st.lists(TEXT.filter(lambda text: sound(text) and not {*"\r\n"} & {*text}), min_size=1))
@settings(deadline=None)
def test_lines_of_text_come_back(folder: Path, ending: str, prompts: list[str]) -> None:
    path = folder / "in.txt"
    path.write_bytes("".join(prompt + ending for prompt in prompts).encode())
    read = list(read_items(path))
    assert [entry.prompt for entry in read if isinstance(entry, Item)] == prompts
    assert [entry.line for entry in read] == list(range(1, len(prompts) + 1))


@pytest.mark.parametrize("name", FORMATS)
@given(data=st.binary(max_size=200) | st.text(alphabet='{}[]":,\n\r &*-!<idprompt0\0é', max_size=80).map(str.encode))
@settings(deadline=None)
def test_any_bytes_are_items_or_problems(folder: Path, name: str, data: bytes) -> None:
    path = folder / f"{name}.bytes"
    path.write_bytes(data)
    found = check(path, known_policies=(), base_cwd=folder, format=name)
    assert found.count or found.wrong
    assert found.wrong >= len(found.problems)
    assert all(problem.text for problem in found.problems)
