"""Runs in pages, the newest first, and one run with its attempts."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection, Row, func, select

from atomic.errors import RunNotFound
from flows.database import Database
from flows.database.tables import attempts as a
from flows.database.tables import runs as r
from flows.history.facts import AttemptRow, Cursor, Page, Rank, RankedPage, RunFilter, RunRow
from flows.history.meaning import Meaning, above, by_time, meaning
from flows.history.snapshots import snapshot, time_of

FIRST_SLICE = 1_000  # runs that are looked at first, where a filter needs a look at each …
LARGER = 8  # … and how much further each further look goes
LOOKS = 10_000  # runs that are looked at for one page: less than a tenth of a second
COUNTED = 10_000  # runs that are counted for a total


def runs_page(
    database: Database, asked: RunFilter, *, after: Cursor | None = None, before: Cursor | None = None, limit: int
) -> Page:
    """The runs that are meant, the newest first: at most ``limit`` of those below ``after``, or of those next above
    ``before``. Raises DatabaseError."""
    up = before is not None
    with snapshot(database) as connection:
        meant = meaning(connection, asked, after=after, before=before)
        if meant.none:
            return Page((), None, 0)
        rows, reached = _looked_for(connection, meant, limit, up=up)
        total = _total(connection, meant) if after is None and not up and meant.exact else None
    shown = tuple(_run(row) for row in rows[:limit])
    more = len(rows) > limit
    if up:
        shown = shown[::-1]
        newer = shown[0].run_id if more else reached
        return Page(shown, shown[-1].run_id if shown else None, None, newer=newer)
    newer = None if after is None else shown[0].run_id if shown else None
    if more:
        return Page(shown, shown[-1].run_id, total, newer=newer)
    if reached is None:
        return Page(shown, None, len(shown) if after is None else None, newer=newer)
    return Page(shown, reached, None, time_of(reached), newer=newer)


def ranked_page(database: Database, asked: RunFilter, *, by: Rank, after: int = 0, limit: int) -> RankedPage:
    """Of the newest LOOKS runs that are meant those that cost or took most, from the ``after``-th on. Raises
    DatabaseError."""
    with snapshot(database) as connection:
        meant = meaning(connection, asked)
        led = meant.led(LOOKS).subquery()
        n, last = connection.execute(select(func.count(), func.min(led.c.run_id))).one()
        query = select(r).join(led, led.c.run_id == r.c.run_id).where(*meant.conditions)
        ordered = query.order_by(_RANKS[by].desc().nulls_last(), r.c.run_id.desc())
        rows = connection.execute(ordered.offset(after).limit(limit + 1)).all()
    shown = tuple(_run(row) for row in rows[:limit])
    following = after + limit if len(rows) > limit else None
    return RankedPage(shown, following, time_of(last) if n == LOOKS else None)


def run_rows(database: Database, run_ids: Collection[str]) -> tuple[RunRow, ...]:
    """The rows of these ids, as far as there are any, the newest first. Raises DatabaseError."""
    with database.reading() as connection:
        rows = connection.execute(select(r).where(database.among(r.c.run_id, list(run_ids)))).all()
    return tuple(sorted((_run(row) for row in rows), key=lambda one: one.run_id, reverse=True))


def _looked_for(
    connection: Connection, meant: Meaning, limit: int, *, up: bool
) -> tuple[list[Row[Any]], Cursor | None]:
    """One row more than asked for, if there are so many, and the last run that was looked at where that was not all."""
    found: list[Row[Any]] = []
    low, high, looked = meant.low, meant.high, 0
    size = limit + 1 if meant.exact else max(FIRST_SLICE, limit)
    while True:
        led = meant.led(size, low=low, high=high, up=up).subquery()
        query = select(r).join(led, led.c.run_id == r.c.run_id).where(*meant.conditions)
        found += connection.execute(query.order_by(by_time(r.c.run_id, up=up)).limit(limit + 1 - len(found))).all()
        if len(found) > limit or meant.exact:
            return found, None
        edge = func.max(led.c.run_id) if up else func.min(led.c.run_id)
        n, last = connection.execute(select(func.count(), edge)).one()
        looked += n
        if n < size:
            return found, None
        if looked >= LOOKS:
            return found, last
        low, high = (above(last), high) if up else (low, last)
        size = min(size * LARGER, LOOKS - looked)


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


_RANKS = {"cost": r.c.cost_usd, "time": r.c.ended_at - r.c.created_at}
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
