"""The results files: written anew, appended to, repaired, and never over somebody else's."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from atomic.errors import PlaceError
from atomic.verdict.facts import Status
from flows.batch.results import ERRORS, NOTE, RESULTS, ResultFiles, check_output
from flows.database import ItemResult


def ended(name: str, status: Status = Status.ANSWERED) -> ItemResult:
    return ItemResult(name, 0, status, None, None, json.dumps({"custom_id": name, "status": status}))


def ids(path: Path) -> list[str]:
    return [json.loads(line)["custom_id"] for line in path.read_text().splitlines()]


def test_what_has_ended_is_there_and_what_ends_is_added(tmp_path: Path) -> None:
    files = ResultFiles.begin(tmp_path, "b", "e", [ended("one"), ended("two", Status.FAILED)])
    files.append([(Status.FAILED, ended("three", Status.FAILED).result), (Status.ANSWERED, ended("four").result)])
    files.sync()
    files.close()
    assert ids(tmp_path / RESULTS) == ["one", "two", "three", "four"]
    assert ids(tmp_path / ERRORS) == ["two", "three"]


def test_a_torn_line_is_gone_at_the_next_beginning(tmp_path: Path) -> None:
    ResultFiles.begin(tmp_path, "b", "e", [ended("one")]).close()
    with (tmp_path / RESULTS).open("a") as file:
        file.write('{"custom_id": "two", "sta')
    files = ResultFiles.begin(tmp_path, "b", "e", [ended("one")])
    files.append([(Status.ANSWERED, ended("two").result)])
    files.close()
    assert ids(tmp_path / RESULTS) == ["one", "two"]


def test_another_edition_keeps_the_one_before_under_its_name(tmp_path: Path) -> None:
    ResultFiles.begin(tmp_path, "b", "monday", [ended("one")]).close()
    ResultFiles.begin(tmp_path, "b", "tuesday", []).close()
    ResultFiles.begin(tmp_path, "b", "monday", [ended("two")]).close()
    assert ids(tmp_path / RESULTS) == ["two"]
    assert ids(tmp_path / "results-monday.jsonl") == ["one"]
    assert ids(tmp_path / "results-tuesday.jsonl") == []


@pytest.mark.parametrize("file", [RESULTS, ERRORS])
def test_results_of_which_nobody_knows_whose_they_are_stay(tmp_path: Path, file: str) -> None:
    (tmp_path / file).write_text("precious\n")
    with pytest.raises(PlaceError, match=file):
        check_output(tmp_path, "b")
    with pytest.raises(PlaceError):
        ResultFiles.begin(tmp_path, "b", "e", [])
    assert (tmp_path / file).read_text() == "precious\n"


def test_results_of_another_batch_stay(tmp_path: Path) -> None:
    ResultFiles.begin(tmp_path, "other", "e", [ended("one")]).close()
    with pytest.raises(PlaceError, match="'other'"):
        check_output(tmp_path, "b")
    assert ids(tmp_path / RESULTS) == ["one"]


def test_a_damaged_note_is_nobodys_permission(tmp_path: Path) -> None:
    ResultFiles.begin(tmp_path, "b", "e", [ended("one")]).close()
    (tmp_path / NOTE).write_text("{")
    with pytest.raises(PlaceError, match=NOTE):
        check_output(tmp_path, "b")


def test_a_pipe_in_the_place_of_the_note_is_nobodys_permission_either(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / NOTE)
    with pytest.raises(PlaceError, match=NOTE):
        check_output(tmp_path, "b")


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(PlaceError, match="file"):
        check_output(tmp_path / "out", "b")


def test_only_their_owner_reads_them(tmp_path: Path) -> None:
    ResultFiles.begin(tmp_path / "out", "b", "e", [ended("one")]).close()
    assert {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "out").iterdir()} == {
        RESULTS: 0o600,
        ERRORS: 0o600,
        NOTE: 0o600,
    }
