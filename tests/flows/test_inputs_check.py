"""The check of a whole input: ids, policies, folders, fingerprints, and what a dry run says."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from atomic.errors import InputError, PolicyError
from atomic.policy import FallbackPolicy
from flows.inputs import SHOWN, Checked, Choice, check, checking, forecast, reading, take_fingerprint
from flows.inputs.facts import Read


def write(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def checked(path: Path, *, policies: tuple[str, ...] = ("night", "cheap"), **how: Any) -> Checked:
    return check(path, known_policies=policies, base_cwd=how.pop("base_cwd", path.parent), **how)


def texts(found: Checked, folder: Path) -> list[str]:
    return [problem.text.replace(f"{folder}{os.sep}", "") for problem in found.problems]


def test_a_sound_input_is_counted(tmp_path: Path) -> None:
    path = write(
        tmp_path / "in.jsonl",
        {"id": "a", "prompt": "x", "policy": "night"},
        {"id": "b", "prompt": "x", "models": ["a/b", "c/d"]},
        {"id": "c", "prompt": "x", "policy": "night"},
        {"id": "d", "prompt": "x", "policy": "default"},
        {"id": "e", "prompt": "x", "models": ["c/d"]},
    )
    found = checked(path)
    found.require_sound()
    assert (found.count, found.wrong, found.format) == (5, 0, "jsonl")
    assert found.policies == ("night", "default")
    assert found.models == ("a/b", "c/d")
    assert found.choices[Choice("night", ())] == 2


def test_everything_is_told_in_one_go(tmp_path: Path) -> None:
    path = write(
        tmp_path / "in.jsonl",
        {"id": "a", "prompt": "x", "policy": "nigth"},
        {"id": "b", "prompt": "x"},
        {"id": "b", "prompt": "y"},
        {"id": "a", "prompt": ""},
        {"prompt": "x", "policy": "zzz"},
        {"id": "line-5", "prompt": "x"},
    )
    found = checked(path)
    assert texts(found, tmp_path) == [
        "in.jsonl:1: policy: unknown policy 'nigth'; did you mean 'night'?",
        "in.jsonl:3: custom_id: the id 'b' is that of line 2 too",
        "in.jsonl:4: prompt: the prompt is empty",
        "in.jsonl:4: custom_id: the id 'a' is that of line 1 too",
        "in.jsonl:5: policy: unknown policy 'zzz'; known: cheap, default, night",
        "in.jsonl:6: custom_id: the id 'line-5' is that of line 5 too",
    ]
    with pytest.raises(InputError, match="cannot be run: 6 problems") as caught:
        found.require_sound()
    assert caught.value.problems == found.problems
    assert all(text in str(caught.value).replace(f"{tmp_path}/", "") for text in texts(found, tmp_path))
    assert pickle.loads(pickle.dumps(caught.value)).total == 6


def test_ids_on_one_line_are_compared_too(tmp_path: Path) -> None:
    path = tmp_path / "in.yaml"
    path.write_text("[{id: a, prompt: x}, {id: a, prompt: y}]")
    assert texts(checked(path), tmp_path) == ["in.yaml:1: custom_id: the id 'a' is that of line 1 too"]


def test_the_same_mistake_made_over_and_over_is_told_so_often_only(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", *({"promt": f"\x1b[31m{n}"} for n in range(500)))
    found = checked(path)
    assert (found.count, found.wrong, len(found.problems)) == (0, 1000, SHOWN)
    with pytest.raises(InputError) as caught:
        found.require_sound()
    assert f"… and {1000 - SHOWN} more" in str(caught.value)
    assert caught.value.total == 1000


def test_what_an_input_says_does_not_reach_the_terminal_raw(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", {"prompt": "x", "\x1b]0;owned\x07k": 1, "m" * 9999: 2})
    with pytest.raises(InputError) as caught:
        checked(path).require_sound()
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 1500


@pytest.mark.parametrize("name", ["in.jsonl", "in.csv", "in.txt", "in.yaml"])
@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff"])
def test_an_input_without_items_is_none(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    assert texts(checked(path), tmp_path) == [f"{name}: there is no item in it"]


def test_the_folder_of_items_that_name_none(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", {"id": "a", "prompt": "x", "cwd": "."})
    assert checked(path, base_cwd=tmp_path / "none").wrong == 0
    path = write(tmp_path / "in.jsonl", {"id": "a", "prompt": "x", "cwd": "."}, {"id": "b", "prompt": "x"})
    assert texts(checked(path, base_cwd=tmp_path / "none"), tmp_path) == [
        "none: cwd: items that name no folder are run in it: there is no such folder"
    ]


def test_an_input_that_changes_later_is_noticed(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", {"id": "a", "prompt": "x"})
    found = checked(path)
    assert found.fingerprint == take_fingerprint(path)
    assert not found.changed()
    os.utime(path, ns=(1, 1))
    assert not found.changed(), "touched is not changed"
    path.write_bytes(path.read_bytes().replace(b"x", b"y"))
    assert found.changed()
    path.unlink()
    assert found.changed()


def test_an_input_that_changes_while_it_is_checked_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "in.jsonl", {"id": "a", "prompt": "x"})
    read_rows = reading.read_rows

    def meanwhile(*args: Any) -> Iterator[Read]:
        yield from read_rows(*args)
        with path.open("a") as file:
            file.write('{"id": "b", "prompt": "x"}\n')

    monkeypatch.setattr(checking, "read_rows", meanwhile)
    assert "it changed while it was checked" in checked(path).problems[0].text


def test_the_fingerprint_is_of_the_whole_file_even_when_reading_stopped(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("a,b\n" + "x,y\n" * 100_000)
    found = checked(path)
    assert found.wrong == 3
    assert found.fingerprint == take_fingerprint(path)


def test_a_dry_run_says_what_would_be_done_and_what_it_costs_at_most(tmp_path: Path) -> None:
    path = write(
        tmp_path / "in.jsonl",
        {"id": "a", "prompt": "x", "policy": "night"},
        {"id": "b", "prompt": "x", "policy": "night"},
        {"id": "c", "prompt": "x", "models": ["c/d"]},
    )
    night = FallbackPolicy(models=["a/b", "c/d:high"], limits={"cost_usd": 0.5})

    def choose(policy: str | None, models: tuple[str, ...]) -> FallbackPolicy:
        return night if policy == "night" else FallbackPolicy(models=models)

    found = forecast(checked(path), choose)
    assert [(share.policy, share.models, share.items, share.cost_usd) for share in found.shares] == [
        ("night", ("a/b", "c/d:high"), 2, 0.5),
        (None, ("c/d",), 1, None),
    ]
    assert (found.items, found.ceiling_usd, found.unbounded) == (3, None, 1)
    assert forecast(checked(path), choose, budget_usd=2.5).ceiling_usd == 2.5
    everything = forecast(checked(path), lambda policy, models: night, budget_usd=9)
    assert (everything.ceiling_usd, everything.unbounded) == (1.5, 0)


def test_a_dry_run_refuses_what_the_batch_would(tmp_path: Path) -> None:
    def choose(policy: str | None, models: tuple[str, ...]) -> FallbackPolicy:
        raise PolicyError("no")

    with pytest.raises(PolicyError):
        forecast(checked(write(tmp_path / "in.jsonl", {"prompt": "x"})), choose)
