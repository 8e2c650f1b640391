"""From a filter to SQL: which labels are meant, which of them leads to the fewest runs, and what else must hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import cast

from sqlalchemy import ColumnElement, Connection, Select, and_, exists, false, func, literal, or_, select, union_all

from atomic.record.layout import first_id
from flows.database.labels import YES, What
from flows.database.tables import labels as t
from flows.database.tables import run_labels as of_run
from flows.database.tables import runs as r
from flows.history.facts import Cursor, RunFilter

PATTERN_AMONG = 50_000  # values that a pattern is compared with: names and tags may be as many as runs
LEADING = 32  # values of one question whose runs can be merged in order
COUNTED = 5_000  # runs of a label that are counted to see which leads to the fewest
LAST = "~"  # sorts behind every id
_WILD = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Meaning:
    """A filter as the database answers it. ``sets``: of each set of labels a run has one. ``low`` and ``high``: ids
    from the one on, before the other. ``rest``: what must hold of the run's row besides. ``lead``: the set whose runs
    are read; None: all runs."""

    low: str
    high: str
    sets: tuple[tuple[int, ...], ...] = ()
    rest: tuple[ColumnElement[bool], ...] = ()
    lead: tuple[int, ...] | None = None
    none: bool = False  # a label is asked for that no run has

    @property
    def exact(self) -> bool:
        """Whether all runs that lead there are meant."""
        return not self.conditions

    @property
    def plain(self) -> bool:
        """Whether nothing but a time is asked for."""
        return not (self.sets or self.rest or self.none)

    @property
    def conditions(self) -> list[ColumnElement[bool]]:
        """What must hold of the row of a run that the lead names."""
        if self.none:
            return [false()]
        others = [one for one in self.sets if one != self.lead]
        return [*(_labelled(one) for one in others), *self.rest]

    def led(self, n: int, *, low: str | None = None, high: str | None = None, up: bool = False) -> Select[str]:
        """The ids of the newest ``n`` runs that the lead names, the newest first; ``up``: of the oldest ones, the
        oldest first."""
        low, high = low or self.low, high or self.high
        if self.lead is None:
            some = select(r.c.run_id).where(*between(r.c.run_id, low, high))
            return some.order_by(by_time(r.c.run_id, up=up)).limit(n)
        parts = [
            select(of_run.c.run_id)
            .where(of_run.c.label_id == label, *between(of_run.c.run_id, low, high))
            .order_by(by_time(of_run.c.run_id, up=up))
            .limit(n)
            for label in self.lead
        ]
        if len(parts) == 1:
            return parts[0]
        merged = union_all(*(select(part.subquery().c.run_id) for part in parts)).subquery()
        return select(merged.c.run_id).distinct().order_by(by_time(merged.c.run_id, up=up)).limit(n)


def by_time(column: ColumnElement[str], *, up: bool) -> ColumnElement[str]:
    """The order of ids: the newest first; ``up``: the oldest."""
    return column.asc() if up else column.desc()


def above(run_id: str) -> str:
    """What sorts behind this id, and before every later one: they are all of one length."""
    return run_id + LAST


def between(column: ColumnElement[str], low: str, high: str) -> list[ColumnElement[bool]]:
    """Conditions on an id: from the one on, before the other."""
    return [*([column >= low] if low else []), *([column < high] if high != LAST else [])]


def meaning(
    connection: Connection, asked: RunFilter, *, after: Cursor | None = None, before: Cursor | None = None
) -> Meaning:
    """What a filter means in this database, below the one cursor and above the other."""
    low = "" if asked.since is None else first_id(asked.since)
    low = low if before is None else max(above(before), low)
    high = LAST if asked.until is None else first_id(asked.until)
    high = high if after is None else min(after, high)
    found = [_ids(connection, what, values) for what, values in _labels(asked)]
    if any(not one for one in found):
        return Meaning(low, high, none=True)
    sets = tuple(dict.fromkeys(tuple(sorted(one)) for one in found))
    return Meaning(low, high, sets, tuple(_rest(asked)), _lead(connection, sets, low, high))


def _labels(asked: RunFilter) -> list[tuple[What, Sequence[str]]]:
    found: list[tuple[What, Sequence[str]]] = [
        (what, values)
        for what in ("kind", "model", "provider")
        if (values := cast("tuple[str, ...]", getattr(asked, what)))
    ]
    found += [("tag", (tag,)) for tag in asked.tag]
    found += [
        (what, (value,))
        for what in ("batch", "edition", "name", "answered_by")
        if (value := cast("str | None", getattr(asked, what))) is not None
    ]
    if asked.hopped:
        found.append(("hopped", (YES,)))
    if asked.status and "answered" not in asked.status:  # that one has no label
        found.append(("status", asked.status))
    return found


def _rest(asked: RunFilter) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if "answered" in asked.status:
        found.append(r.c.status.in_(asked.status))
    if asked.hopped is False:
        found.append(r.c.hopped.is_(False))
    if asked.text:
        columns = (r.c.custom_id, r.c.name, r.c.message, r.c.prompt)
        found.append(or_(*(column.icontains(asked.text, autoescape=True) for column in columns)))
    return found


def _ids(connection: Connection, what: What, values: Sequence[str]) -> set[int]:
    plain = [value for value in values if what in ("batch", "edition") or not _WILD & set(value)]
    wild = [value for value in values if value not in plain]
    found = set(connection.execute(select(t.c.id).where(t.c.what == what, t.c.value.in_(plain))).scalars())
    if wild:
        all_of = select(t.c.id, t.c.value).where(t.c.what == what).order_by(t.c.id.desc()).limit(PATTERN_AMONG)
        found |= {
            row.id for row in connection.execute(all_of) if any(fnmatchcase(row.value, pattern) for pattern in wild)
        }
    return found


def _lead(connection: Connection, sets: tuple[tuple[int, ...], ...], low: str, high: str) -> tuple[int, ...] | None:
    """The set with the fewest runs, where it has not too many labels to be read in order."""
    short = [one for one in sets if len(one) <= LEADING]
    if len(short) < 2:
        return short[0] if short else None
    counted = {one: sum(_counted(connection, label, low, high) for label in one) for one in short}
    return min(counted, key=counted.__getitem__)


def _counted(connection: Connection, label: int, low: str, high: str) -> int:
    some = select(literal(1)).where(of_run.c.label_id == label, *between(of_run.c.run_id, low, high)).limit(COUNTED)
    return connection.execute(select(func.count()).select_from(some.subquery())).scalar_one()


def _labelled(labels: tuple[int, ...]) -> ColumnElement[bool]:
    return exists().where(and_(of_run.c.label_id.in_(labels), of_run.c.run_id == r.c.run_id)).correlate(r)
