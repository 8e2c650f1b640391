"""Days as a person has them: from midnight to midnight of a time zone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sqlalchemy import ColumnElement, FunctionElement, Integer, case, literal_column
from sqlalchemy.ext.compiler import compiles

EPOCH = date(1970, 1, 1)
DAY = 86_400.0  # seconds

_LOCALTIME = Path("/etc/localtime")
_ZONES = "zoneinfo/"


def local_zone() -> tzinfo:
    """The time zone of this machine's user; where it has no name, its offset of now."""
    name = os.environ.get("TZ", "").removeprefix(":")
    if not name:
        _, found, name = os.path.realpath(_LOCALTIME).partition(_ZONES)
        name = name if found else ""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return datetime.now().astimezone().tzinfo or UTC


def zone_name(zone: tzinfo) -> str:
    """What tells a zone from others."""
    return zone.key if isinstance(zone, ZoneInfo) else str(zone)


def day_of(at: float, zone: tzinfo) -> date:
    """The day on which a moment (seconds since the epoch) is."""
    return datetime.fromtimestamp(at, zone).date()


def begins(day: date, zone: tzinfo) -> float:
    """When a day begins, in seconds since the epoch."""
    return datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()


def whole_days(since: float, until: float, zone: tzinfo) -> Iterator[tuple[date, float, float]]:
    """The days that are whole between two moments, each with its beginning and its end."""
    day = day_of(since, zone)
    begin = begins(day, zone)
    while begin < until:
        following = day + timedelta(days=1)
        end = begins(following, zone)
        if begin >= since and end <= until:
            yield day, begin, end
        day, begin = following, end


def day_number(at: ColumnElement[float], since: float, until: float, zone: tzinfo) -> ColumnElement[int]:
    """The days from 1970-01-01 to the day of a moment, in SQL, for moments between two. A zone's offset is the same for
    months; only a day on which it changes is named by its two ends."""
    day = day_of(since, zone)
    begin, last = begins(day, zone), day_of(until, zone)
    branches: list[tuple[ColumnElement[bool], ColumnElement[int]]] = []
    while day <= last:
        end = begins(day + timedelta(days=1), zone)
        if end - begin != DAY:
            branches += [(at < _told(begin), _counted(at, begin, day)), (at < _told(end), _told((day - EPOCH).days))]
        day, begin = day + timedelta(days=1), end
    return case(*branches, else_=_counted(at, begin, day)) if branches else _counted(at, begin, day)


def _counted(at: ColumnElement[float], begin: float, day: date) -> ColumnElement[int]:
    """The number of the day of a moment, by days of 24 hours; one of them, ``day``, begins at ``begin``."""
    return whole((at - _told(begin)) / _told(DAY) + _told((day - EPOCH).days))


def _told(number: float) -> ColumnElement[Any]:
    """A number within the text of the statement: what is grouped by must be the same text wherever it stands."""
    return literal_column(repr(number))


class whole(FunctionElement[int]):  # noqa: N801 - a function in SQL
    """A positive number without its fraction: a cast cuts it off on one database and rounds on the other."""

    type = Integer()
    inherit_cache = True


@compiles(whole, "sqlite")
def _sqlite_whole(element: whole, compiler: Any, **given: Any) -> str:
    return f"CAST({compiler.process(element.clauses, **given)} AS INTEGER)"


@compiles(whole, "postgresql")
def _postgres_whole(element: whole, compiler: Any, **given: Any) -> str:
    return f"CAST(FLOOR({compiler.process(element.clauses, **given)}) AS INTEGER)"
