"""The dashboard's history follows the records while somebody looks."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from atomic.errors import DatabaseError
from atomic.runner import open_store
from atomic.settings import load_settings
from flows.dashboard import keeping_up
from flows.dashboard.keeping_up import EVERY, UNSEEN, keep_up
from flows.dashboard.sources import Sources
from flows.database import Database
from flows.history import RunFilter, runs_page


@pytest.fixture
def sources(tmp_path: Path) -> Iterator[Sources]:
    settings = load_settings(tmp_path, environ={"ATOMIC_FLOWS_HOME": str(tmp_path), "HOME": str(tmp_path)})
    database = Database.open(home=tmp_path)
    yield Sources(settings, open_store(settings), database)
    database.close()


class Acts(threading.Event):
    """Time that passes at once: something is done at each wait, and after the last of them it is over."""

    def __init__(self, *acts: Callable[[], object]) -> None:
        super().__init__()
        self.acts = list(acts)
        self.waited: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waited.append(timeout)
        if not self.acts:
            return True
        self.acts.pop(0)()
        return False


def test_the_history_follows_the_records_while_it_is_looked_at(sources: Sources) -> None:
    seen: list[int] = []
    lookers = iter((False, False, True))

    def note() -> None:
        seen.append(len(runs_page(sources.database, RunFilter(), limit=10).rows))

    def begin() -> None:
        note()
        sources.store.create(b"Sweep the yard")

    acts = Acts(begin, begin, note, note)
    keep_up(sources, lambda: next(lookers), acts)
    note()
    assert seen == [0, 1, 1, 1, 2]
    assert acts.waited == [0.0, EVERY, UNSEEN, UNSEEN, EVERY]


def test_a_history_that_cannot_catch_up_says_so_once_and_tries_again(
    sources: Sources, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tried: list[object] = []

    def fail(*given: object) -> None:
        tried.append(given)
        raise DatabaseError("the database is away")

    monkeypatch.setattr(keeping_up, "catch_up", fail)
    with caplog.at_level(logging.WARNING):
        keep_up(sources, lambda: True, Acts(*[lambda: None] * 3))
    assert len(tried) == 3
    assert [record.getMessage() for record in caplog.records] == [
        "the history could not catch up with the records: the database is away"
    ]
