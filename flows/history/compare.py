"""One day against another."""

from __future__ import annotations

from datetime import date, timedelta, tzinfo

from flows.database import Database
from flows.history.facts import Comparison, DayFigures, RunFilter
from flows.history.source import source
from flows.history.sums import models_of, outcomes_of, overview_of
from flows.history.zones import begins, local_zone


def compare(database: Database, a: date, b: date, zone: tzinfo | None = None) -> Comparison:
    """What the runs that began on two days came to and cost. Raises DatabaseError."""
    zone = zone or local_zone()
    return Comparison(_figures(database, a, zone), _figures(database, b, zone))


def _figures(database: Database, day: date, zone: tzinfo) -> DayFigures:
    asked = RunFilter(since=begins(day, zone), until=begins(day + timedelta(days=1), zone))
    with source(database, asked, zone) as found:
        return DayFigures(day, overview_of(found), outcomes_of(found), models_of(found))
