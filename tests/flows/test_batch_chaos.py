"""A batch that is killed again and again; the long form of it: ``python -m tests.chaos.batch``."""

from __future__ import annotations

from pathlib import Path

from tests.chaos.batch import torment


def test_nothing_is_lost_and_nothing_bought_twice(tmp_path: Path) -> None:
    problems, ended, _ = torment(tmp_path, items=36, kills=2, seed=20)
    assert problems == []
    assert (ended["answered"], ended["failed"]) == (30, 6)
