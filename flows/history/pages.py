"""Runs in pages, the newest first, and one run with its attempts."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, Row, func, select

from atomic.errors import RunNotFound
from flows.database import Database
from flows.database.tables import attempts as a
from flows.database.tables import runs as r
from flows.history.facts import AttemptRow, Cursor, Page, RunFilter, RunRow
from flows.history.meaning import Meaning, meaning
from flows.history.snapshots import snapshot, time_of

FIRST_SLICE = 1_000  # runs that are looked at first, where a filter needs a look at each …
LARGER = 8  # … and how much further each further look goes
LOOKS = 50_000  # runs that are looked at for one page: a tenth of a second
COUNTED = 10_000  # runs that are counted for a total


def runs_page(database: Database, asked: RunFilter, *, after: Cursor | None = None, limit: int) -> Page:
    """The runs that are meant, the newest first, below ``after``: at most ``limit``. Raises DatabaseError."""
    with snapshot(database) as connection:
        meant = meaning(connection, asked, after=after)
        if meant.none:
            return Page((), None, 0)
        rows, reached = _looked_for(connection, meant, limit)
        total = _total(connection, meant) if after is None and meant.exact else None
    shown = tuple(_run(row) for row in rows[:limit])
    if len(rows) > limit:
        return Page(shown, shown[-1].run_id, total)
    if reached is None:
        return Page(shown, None, len(shown) if after is None else None)
    return Page(shown, reached, None, time_of(reached))


def _looked_for(connection: Connection, meant: Meaning, limit: int) -> tuple[list[Row[Any]], Cursor | None]:
    """One row more than asked for, if there are so many, and the last run that was looked at where that was not all."""
    found: list[Row[Any]] = []
    high, looked = meant.high, 0
    size = limit + 1 if meant.exact else max(FIRST_SLICE, limit)
    while True:
        led = meant.led(size, high=high).subquery()
        query = select(r).join(led, led.c.run_id == r.c.run_id).where(*meant.conditions)
        found += connection.execute(query.order_by(r.c.run_id.desc()).limit(limit + 1 - len(found))).all()
        if len(found) > limit or meant.exact:
            return found, None
        n, last = connection.execute(select(func.count(), func.min(led.c.run_id))).one()
        looked += n
        if n < size:
            return found, None
        if looked >= LOOKS:
            return found, last
        high, size = last, min(size * LARGER, LOOKS - looked)


def _total(connection: Connection, meant: Meaning) -> int | None:
    some = meant.led(COUNTED + 1).order_by(None).subquery() if meant.lead is None else meant.led(COUNTED + 1).subquery()
    n: int = connection.execute(select(func.count()).select_from(some)).scalar_one()
    return n if n <= COUNTED else None


def run_row(database: Database, run_id: str) -> RunRow:
    """The row of a whole id. Raises RunNotFound, DatabaseError."""
    with database.reading() as connection:
        found = connection.execute(select(r).where(r.c.run_id == run_id)).first()
    if found is None:
        raise RunNotFound(f"no run {run_id!r} in the history", run_id=run_id, nearest=())
    return _run(found)


def attempts_of(database: Database, run_id: str) -> tuple[AttemptRow, ...]:
    """The attempts of a run, in order. Raises DatabaseError."""
    with database.reading() as connection:
        rows = connection.execute(select(a).where(a.c.run_id == run_id).order_by(a.c.n)).all()
    return tuple(_attempt(row) for row in rows)


_RUN_FIELDS = tuple(name for name in RunRow.__dataclass_fields__ if name not in ("tags", "metadata", "warnings"))
_ATTEMPT_FIELDS = tuple(AttemptRow.__dataclass_fields__)


def _run(row: Row[Any]) -> RunRow:
    return RunRow(
        **{name: getattr(row, name) for name in _RUN_FIELDS},
        tags=tuple(json.loads(row.tags)),
        metadata=json.loads(row.metadata),
        warnings=tuple(json.loads(row.warnings)),
    )


def _attempt(row: Row[Any]) -> AttemptRow:
    return AttemptRow(**{name: getattr(row, name) for name in _ATTEMPT_FIELDS})
