"""One day against another."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta, tzinfo

from flows.database import Database
from flows.history.facts import Comparison, DayFigures, RunFilter
from flows.history.source import source
from flows.history.sums import models_of, outcomes_of, overview_of
from flows.history.zones import begins, local_zone

EVERY_RUN = RunFilter()


def compare(
    database: Database, a: date, b: date, zone: tzinfo | None = None, asked: RunFilter = EVERY_RUN
) -> Comparison:
    """What the runs that began on two days came to and cost; of those that ``asked`` means, whatever times it says.
    Raises DatabaseError."""
    zone = zone or local_zone()
    return Comparison(_figures(database, a, zone, asked), _figures(database, b, zone, asked))


def on_day(asked: RunFilter, day: date, zone: tzinfo) -> RunFilter:
    """The same filter for the runs that began on a day."""
    return replace(asked, since=begins(day, zone), until=begins(day + timedelta(days=1), zone))


def _figures(database: Database, day: date, zone: tzinfo, asked: RunFilter) -> DayFigures:
    with source(database, on_day(asked, day, zone), zone) as found:
        return DayFigures(day, overview_of(found), outcomes_of(found), models_of(found))
