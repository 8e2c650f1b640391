"""The figures of past days, by one time zone's days: made of the rows when they are first asked for, and kept until a
run of the day is written. With them a year of a million runs is summed up as fast as a week."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, tzinfo
from typing import Any

import orjson
from sqlalchemy import BigInteger, Connection, Row, insert, literal, select

from atomic.errors import DatabaseError
from atomic.record.layout import first_id
from flows.database import Database
from flows.database.runs import hold_days
from flows.database.tables import attempts as a
from flows.database.tables import day_hops, day_models, day_outcomes, day_times
from flows.database.tables import days as d
from flows.database.tables import runs as r
from flows.history import grouped
from flows.history.meaning import LAST, between
from flows.history.zones import DAY, EPOCH, whole_days, zone_name

AT_ONCE = 20  # days that one transaction makes: nobody waits long for it

Span = tuple[float, float]
Histograms = dict[tuple[str, str], dict[int, int]]  # by what is timed and model: by bucket, how many


@dataclass(frozen=True, slots=True)
class Kept:
    """What of a time is kept as figures, by the ids of the days; and the ids of runs, from the one on and before the
    other, between which the rows have to be looked at."""

    ids: tuple[int, ...]
    spans: tuple[tuple[str, str], ...]


def keep_days(database: Database, since: float | None, until: float | None, zone: tzinfo) -> None:
    """Make the figures of the days that are over and have none. Where the database cannot be written, the rows tell as
    well, if more slowly."""
    try:
        with database.reading() as connection:
            missing = _missing(connection, since, until, zone)
        for first in range(0, len(missing), AT_ONCE):
            with database.writing() as connection:
                hold_days(connection, alone=True)
                for day, begin, end in missing[first : first + AT_ONCE]:
                    _keep(database, connection, zone_name(zone), day, begin, end)
    except DatabaseError:
        return


def kept_days(connection: Connection, since: float | None, until: float | None, zone: tzinfo) -> Kept:
    """What is kept of the time between two moments, and what is not."""
    query = select(d.c.id, d.c.begins, d.c.ends).where(d.c.zone == zone_name(zone))
    if since is not None:
        query = query.where(d.c.begins >= since)
    if until is not None:
        query = query.where(d.c.ends <= until)
    kept = connection.execute(query.order_by(d.c.begins)).all()
    spans = []
    at = "" if since is None else first_id(since)
    for row in kept:
        begin = first_id(row.begins)
        if begin > at:
            spans.append((at, begin))
        at = first_id(row.ends)
    last = LAST if until is None else first_id(until)
    if at < last:
        spans.append((at, last))
    return Kept(tuple(row.id for row in kept), tuple(spans))


def extent(connection: Connection) -> Span | None:
    """When the first and the last run began; None where there are none."""
    first, last = (
        connection.execute(select(r.c.created_at).order_by(order).limit(1)).scalar()
        for order in (r.c.run_id, r.c.run_id.desc())
    )
    return None if first is None or last is None else (first, last)


def _missing(
    connection: Connection, since: float | None, until: float | None, zone: tzinfo
) -> list[tuple[date, float, float]]:
    found = extent(connection)
    if found is None:
        return []
    # The first day is whole, though it began before the first run.
    begin = found[0] - DAY if since is None else max(since, found[0] - DAY)
    end = min(time.time(), found[1] + DAY if until is None else until)
    there = set(connection.execute(select(d.c.number).where(d.c.zone == zone_name(zone))).scalars())
    return [one for one in whole_days(begin, end, zone) if (one[0] - EPOCH).days not in there]


def _keep(database: Database, connection: Connection, zone: str, day: date, begin: float, end: float) -> None:
    made = database.insert(d).values(zone=zone, number=(day - EPOCH).days, begins=begin, ends=end)
    day_id = connection.execute(made.on_conflict_do_nothing().returning(d.c.id)).scalar()
    if day_id is None:
        return  # another process was quicker
    low, high = first_id(begin), first_id(end)
    of_runs, of_attempts = between(r.c.run_id, low, high), between(a.c.run_id, low, high)
    for table, query in (
        (day_outcomes, grouped.outcomes(of_runs)),
        (day_models, grouped.models(of_attempts)),
        (day_hops, grouped.hops(of_attempts)),
    ):
        found = query.subquery()
        names = [column.name for column in found.c]
        rows = select(literal(day_id, BigInteger), *found.c)
        connection.execute(insert(table).from_select(["day_id", *names], rows))
    histograms = added({}, connection.execute(grouped.times(of_runs, of_attempts)))
    told = [
        {"day_id": day_id, "what": what, "model": model, "counted": json.dumps(counted)}
        for (what, model), counted in histograms.items()
    ]
    if told:
        connection.execute(insert(day_times), told)


def added(histograms: Histograms, found: Iterable[Row[*tuple[Any, ...]]]) -> Histograms:
    """The histograms with rows of :func:`flows.history.grouped.times` added to them."""
    for what, model, bucket, n in found:
        counted = histograms.setdefault((what, model), {})
        counted[bucket] = counted.get(bucket, 0) + int(n)
    return histograms


def kept_times(connection: Connection, ids: Sequence[int], whats: Sequence[str]) -> Histograms:
    """The histograms of what is timed, over kept days."""
    query = select(day_times.c.what, day_times.c.model, day_times.c.counted)
    histograms: Histograms = {}
    for what, model, text in connection.execute(query.where(day_times.c.day_id.in_(ids), day_times.c.what.in_(whats))):
        counted = histograms.setdefault((what, model), {})
        for bucket, n in orjson.loads(text).items():
            number = int(bucket)
            counted[number] = counted.get(number, 0) + n
    return histograms
