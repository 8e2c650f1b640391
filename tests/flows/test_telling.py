"""What a run tells the history when the database takes its time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from atomic.policy import FallbackPolicy
from atomic.record import RunStore
from atomic.runner import AttemptEnded, RunEvent, execute, prepare
from atomic.settings import Settings
from flows.database import Database
from flows.history import telling


@pytest.mark.parametrize("comes", [True, False])
async def test_a_database_that_is_late_has_the_run_if_it_comes_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, comes: bool
) -> None:
    opens = threading.Event()
    really: Callable[..., Database] = Database.open

    def late(url: str | None, *, home: Path, patience: float) -> Database:
        opens.wait()
        return really(url, home=home, patience=patience)

    monkeypatch.setattr(telling, "PATIENCE", 0.2)
    monkeypatch.setattr(Database, "open", late)
    settings = Settings(home=tmp_path / "home")
    store = RunStore(settings.home / "records", home=settings.home, fsync=False)
    request = prepare("go", policy=FallbackPolicy(models=["a/ok"]), agent="scripted", cwd=tmp_path, settings=settings)
    said: list[str] = []
    try:
        async with telling.telling(settings, store, request, warn=said.append) as told:

            def heard(event: RunEvent) -> None:
                if comes and isinstance(event, AttemptEnded):
                    monkeypatch.setattr(telling, "PATIENCE", 60.0)
                    opens.set()

            result = await execute(request, store=store, on_event=telling.both(told.hear, heard))
    finally:
        opens.set()
    assert result.answered
    if comes:
        assert said == []
        database = await asyncio.to_thread(really, settings.history.url, home=settings.home)
        try:
            found = await asyncio.to_thread(_statuses, database)
        finally:
            database.close()
        assert found == [(result.run_id, "answered")]
    else:
        assert len(said) == 1
        assert "the database does not answer" in said[0]


def _statuses(database: Database) -> list[tuple[str, str]]:
    from sqlalchemy import text

    with database.engine.connect() as connection:
        return [(row[0], row[1]) for row in connection.execute(text("select run_id, status from runs"))]
