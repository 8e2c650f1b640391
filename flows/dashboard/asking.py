"""What an address asks of the history: a time and labels, read from its query string and written back into it.

An address is hostile text like any other: what it asks for and cannot be is named in ``problems`` and left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta, tzinfo
from typing import Any, cast
from urllib.parse import urlencode

from flows.database.tables import storable
from flows.history import Cursor, Rank, RunFilter
from flows.history.zones import begins, day_of

WINDOWS = {"24h": "24 hours", "7d": "7 days", "30d": "30 days", "90d": "90 days", "all": "all time"}
ORDERS = {"": "newest first", "cost": "dearest first", "time": "longest first"}
STATUSES = ("answered", "failed", "running")
LISTS = ("status", "kind", "model", "provider", "tag")  # what may be there several times
SINGLE = ("batch", "edition", "name", "answered_by", "text")
HOPPED = {"yes": True, "no": False}
LONGEST = 300  # characters of a value
MOST = 20  # values of one name
_CURSOR = re.compile(r"[0-9a-z-]{1,64}", re.ASCII)
_NUMBER = re.compile(r"\d{1,6}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Window:
    """A span of time: one of WINDOWS by ``name``, or the days from ``first`` to ``last``, both whole."""

    name: str = "all"
    first: date | None = None
    last: date | None = None

    def span(self, now: float, zone: tzinfo) -> tuple[float | None, float | None]:
        """From when on, and before when, in seconds since the epoch. Spans of several days begin at midnight: every
        day in them but today is whole."""
        if self.name == "24h":
            return now - 86_400.0, None
        if self.name.endswith("d"):
            return begins(day_of(now, zone) - timedelta(days=int(self.name[:-1]) - 1), zone), None
        since = None if self.first is None else begins(self.first, zone)
        return since, None if self.last is None else begins(self.last + timedelta(days=1), zone)

    @property
    def title(self) -> str:
        """The span in words."""
        if self.name:
            return f"the last {WINDOWS[self.name]}" if self.name != "all" else "all time"
        if self.first == self.last and self.first is not None:
            return f"{self.first:%A} {self.first}"
        if self.last is None:
            return f"{self.first} and later"
        return f"until {self.last}" if self.first is None else f"{self.first} to {self.last}"

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The span in a query string."""
        if self.name:
            return [("window", self.name)]
        ends = (("from", self.first), ("to", self.last))
        return [(name, day.isoformat()) for name, day in ends if day is not None]


def days(first: date, last: date | None = None) -> Window:
    """Whole days; by default one."""
    return Window("", first, last or first)


@dataclass(frozen=True, slots=True)
class Question:
    """What an address asks. ``labels`` has no time; ``order`` is one of ORDERS."""

    window: Window = field(default_factory=Window)
    labels: RunFilter = field(default_factory=RunFilter)
    order: str = ""
    problems: tuple[str, ...] = ()

    @property
    def rank(self) -> Rank | None:
        """By what the runs are ordered; None: by time."""
        return cast("Rank", self.order) if self.order else None

    def asked(self, now: float, zone: tzinfo) -> RunFilter:
        """The filter that the history is asked with."""
        since, until = self.window.span(now, zone)
        return replace(self.labels, since=since, until=until)

    def only(self, *, window: Window | None = None, order: str | None = None, **labels: Any) -> Question:
        """The same, narrowed or changed: names are those of RunFilter."""
        return Question(
            self.window if window is None else window,
            replace(self.labels, **labels),
            self.order if order is None else order,
        )

    def chosen(self) -> Iterator[tuple[str, str]]:
        """The labels that are asked for, by name and value."""
        for name in LISTS:
            yield from ((name, value) for value in getattr(self.labels, name))
        for name in SINGLE:
            if value := getattr(self.labels, name):
                yield name, value
        if self.labels.hopped is not None:
            yield "hopped", "yes" if self.labels.hopped else "no"

    def without(self, name: str, value: str) -> Question:
        """The same less one label."""
        left: Any = tuple(one for one in getattr(self.labels, name) if one != value) if name in LISTS else None
        return replace(self, labels=replace(self.labels, **{name: left}), problems=())

    def to(self, path: str, **more: str | int | None) -> str:
        """The address of a page that is asked this; ``more`` are further pairs of its query string."""
        pairs = [*self.window.pairs, *self.chosen()]
        if self.order:
            pairs.append(("order", self.order))
        pairs += [(name, str(value)) for name, value in more.items() if value is not None]
        return f"{path}?{urlencode([(name, storable(value)) for name, value in pairs])}"  # as labels are stored


def read_question(query: Iterable[tuple[str, str]], *, window: str) -> Question:
    """What a query string asks. ``window`` is the span where it names none."""
    given: dict[str, list[str]] = {}
    for name, value in query:
        if value.strip():
            given.setdefault(name, []).append(storable(value.strip()[:LONGEST]))
    problems: list[str] = []
    labels: dict[str, Any] = {name: tuple(dict.fromkeys(given.get(name, [])))[:MOST] for name in LISTS}
    labels |= {name: given[name][0] for name in SINGLE if name in given}
    strange = [status for status in labels["status"] if status not in STATUSES]
    problems += [f"“{status}” is no status: runs are {', '.join(STATUSES)}." for status in strange]
    labels["status"] = tuple(status for status in labels["status"] if status in STATUSES)
    hopped = _one_of(HOPPED, "hopped", given, problems)
    labels["hopped"] = HOPPED.get(hopped) if hopped else None
    order = _one_of(ORDERS, "order", given, problems)
    return Question(_window(given, window, problems), RunFilter(**labels), order, tuple(problems))


def read_cursor(text: str | None) -> Cursor | None:
    """A cursor, where it can be one."""
    return text if text and _CURSOR.fullmatch(text) else None


def read_number(text: str | None) -> int:
    """A number from 0 on; 0 for anything else."""
    return int(text) if text and _NUMBER.fullmatch(text) else 0


def read_day(text: str | None) -> date | None:
    """A day of the calendar; None for anything else."""
    try:
        day = date.fromisoformat(text or "")
        datetime(day.year + 1, 1, 1).timestamp()  # noqa: DTZ001 - whether the clock has it
    except (ValueError, OverflowError, OSError):
        return None
    return day if day.year >= 1970 else None


def _window(given: Mapping[str, list[str]], default: str, problems: list[str]) -> Window:
    found: dict[str, date | None] = {}
    for name in ("from", "to"):
        text = given.get(name, [""])[0]
        found[name] = read_day(text)
        if text and found[name] is None:
            problems.append(f"“{text}” is no day: write it like 2026-12-01.")
    first, last = found["from"], found["to"]
    if first is not None and last is not None and first > last:
        problems.append(f"{first} is after {last}: they were exchanged.")
        first, last = last, first
    if first is not None or last is not None:
        return Window("", first, last)
    return Window(_one_of(WINDOWS, "window", given, problems) or default)


def _one_of(known: Mapping[str, object], name: str, given: Mapping[str, list[str]], problems: list[str]) -> str:
    text = given.get(name, [""])[0]
    if not text or text in known:
        return text
    problems.append(f"“{text}” is no {name}: there are {', '.join(one for one in known if one)}.")
    return ""
