"""Where the figures of the runs that are meant come from: kept days, rows, or both."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta, tzinfo
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Select,
    Table,
    and_,
    false,
    func,
    or_,
    select,
    true,
    union_all,
)
from sqlalchemy.sql.selectable import CompoundSelect

from flows.database import Database
from flows.database.tables import attempts as a
from flows.database.tables import day_hops, day_models, day_outcomes
from flows.database.tables import days as d
from flows.database.tables import runs as r
from flows.history import grouped
from flows.history.days import Histograms, added, extent, keep_days, kept_days, kept_times
from flows.history.facts import RunFilter
from flows.history.meaning import Meaning, between, meaning
from flows.history.snapshots import snapshot, time_of
from flows.history.zones import EPOCH, day_number, local_zone

LOOKS = 5_000  # runs whose rows are summed up for a filter by more than a time: less than a tenth of a second

Part = Select[Any] | CompoundSelect[Any]


@dataclass(frozen=True, slots=True)
class Source:
    """``of_runs`` and ``of_attempts``: conditions on the rows that are looked at; ``kept``: the ids of days whose
    figures are."""

    connection: Connection
    zone: tzinfo
    kept: tuple[int, ...]
    of_runs: Sequence[ColumnElement[bool]]
    of_attempts: Sequence[ColumnElement[bool]]
    looked_back_to: float | None = None  # None: all that are meant are in it

    def outcomes(self, *, by_day: bool = False) -> FromClause:
        """Runs by status and kind, see ``day_outcomes``."""
        return self._both(day_outcomes, grouped.outcomes(self.of_runs, self._day(by_day)), by_day=by_day)

    def models(self, *, by_day: bool = False) -> FromClause:
        """Attempts by model, status and kind, see ``day_models``."""
        return self._both(day_models, grouped.models(self.of_attempts, self._day(by_day)), by_day=by_day)

    def hops(self) -> FromClause:
        """Changes of the model, see ``day_hops``."""
        return self._both(day_hops, grouped.hops(self.of_attempts))

    def times(self, *whats: str) -> Histograms:
        """Durations in buckets, by what is timed and model."""
        rows = self.connection.execute(grouped.times(self.of_runs, self.of_attempts, whats=whats))
        return added(kept_times(self.connection, self.kept, whats), rows)

    def _both(self, table: Table, rows: Part, *, by_day: bool = False) -> FromClause:
        found = rows.subquery()
        parts: list[Select[Any]] = [select(found)]
        if self.kept:
            names = [column.name for column in found.c if column.name != "day"]
            columns: list[ColumnElement[Any]] = [table.c[name] for name in names]
            if by_day:
                columns.insert(0, d.c.number.label("day"))
            query = select(*columns).where(table.c.day_id.in_(self.kept))
            parts.append(query.join_from(table, d, d.c.id == table.c.day_id) if by_day else query)
        return union_all(*parts).subquery()

    def _day(self, by_day: bool) -> list[ColumnElement[Any]]:
        if not by_day:
            return []
        found = extent(self.connection)
        first, last = found or (0.0, 0.0)
        return [day_number(r.c.created_at, first, last, self.zone).label("day")]


@contextlib.contextmanager
def source(database: Database, asked: RunFilter, zone: tzinfo | None = None) -> Iterator[Source]:
    """The source of the runs that are meant, within one transaction. Raises DatabaseError."""
    zone = zone or local_zone()
    plain = asked == RunFilter(since=asked.since, until=asked.until)
    if plain:
        keep_days(database, asked.since, asked.until, zone)
    with snapshot(database) as connection:
        if plain:
            kept = kept_days(connection, asked.since, asked.until, zone)
            yield Source(connection, zone, kept.ids, _within(r.c.run_id, kept.spans), _within(a.c.run_id, kept.spans))
        else:
            yield _chosen(connection, meaning(connection, asked), zone)


def _within(column: ColumnElement[str], spans: Sequence[tuple[str, str]]) -> list[ColumnElement[bool]]:
    """Conditions that hold of an id in one of the spans; nothing but ranges, for which the index is used."""
    ranges = [and_(true(), *between(column, *span)) for span in spans]
    return [or_(*ranges) if ranges else false()]


def _chosen(connection: Connection, meant: Meaning, zone: tzinfo) -> Source:
    led = meant.led(LOOKS).subquery()
    n, last = connection.execute(select(func.count(), func.min(led.c.run_id))).one()
    chosen = select(led.c.run_id)
    if meant.conditions:
        chosen = select(r.c.run_id).join(led, led.c.run_id == r.c.run_id).where(*meant.conditions)
    of_runs, of_attempts = [r.c.run_id.in_(chosen)], [a.c.run_id.in_(chosen)]
    return Source(connection, zone, (), of_runs, of_attempts, time_of(last) if n == LOOKS else None)


def date_of(number: int) -> date:
    """The day of a number."""
    return EPOCH + timedelta(days=number)
