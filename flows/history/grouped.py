"""Rows of runs and attempts, grouped: the same columns as the figures of past days have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, String, case, func, literal, literal_column, select, union_all
from sqlalchemy.sql.selectable import CompoundSelect

from flows.database.tables import attempts as a
from flows.database.tables import runs as r

TOKENS = ("input", "output", "cache_read", "cache_write")
RUN, ATTEMPT, TOKEN = "run", "attempt", "token"  # what is timed: a run, an attempt, the way to its first token
TIMED = (RUN, ATTEMPT, TOKEN)

_NONE: ColumnElement[str] = literal_column("''", String)  # no parameter: grouping by it must be the same text
Where = Sequence[ColumnElement[bool]]
First = Sequence[ColumnElement[Any]]  # columns before the others: the day


def outcomes(where: Where, first: First = ()) -> Select[Any]:
    """What runs came to, like ``day_outcomes``. ``where`` is about the runs."""
    by = (r.c.status.label("status"), _known(r.c.kind).label("kind"))
    hopped = func.sum(case((r.c.hopped, 1), else_=0)).label("hopped")
    sums = (func.count().label("runs"), hopped, *_used(r.c))
    return select(*first, *by, *sums).where(*where).group_by(*first, *by)


def models(where: Where, first: First = ()) -> Select[Any]:
    """What attempts came to, like ``day_models``. ``where`` is about the attempts' runs, on their ids."""
    by = (_known(a.c.asked).label("model"), _known(a.c.status).label("status"), _known(a.c.kind).label("kind"))
    query = select(*first, *by, func.count().label("attempts"), *_used(a.c)).where(*where).group_by(*first, *by)
    return query.join_from(a, r, a.c.run_id == r.c.run_id) if first else query


def hops(where: Where, first: First = ()) -> Select[Any]:
    """Changes of the model between two attempts, like ``day_hops``; ``where`` is on the ids of attempts."""
    after = a.alias("after")
    by = (
        _known(a.c.asked).label("source"),
        _known(after.c.asked).label("target"),
        _known(a.c.kind).label("kind"),
    )
    follows = (after.c.run_id == a.c.run_id) & (after.c.n == a.c.n + 1)
    query = select(*first, *by, func.count().label("runs")).join_from(a, after, follows)
    return query.where(*where, after.c.asked.is_distinct_from(a.c.asked)).group_by(*first, *by)


def times(of_runs: Where, of_attempts: Where, *, whats: Sequence[str] = TIMED) -> CompoundSelect[Any]:
    """How many durations there are by what is timed, model and bucket."""
    model = _known(a.c.asked)
    parts = {
        RUN: (_NONE, r.c.took, of_runs, (r.c.took,)),
        ATTEMPT: (model, a.c.took, of_attempts, (model, a.c.took)),
        TOKEN: (model, a.c.waited, of_attempts, (model, a.c.waited)),
    }
    return union_all(
        *(
            select(
                literal(what, String).label("what"),
                whose.label("model"),
                bucket.label("bucket"),
                func.count().label("n"),
            )
            .where(bucket.is_not(None), *where)
            .group_by(*by)
            for what, (whose, bucket, where, by) in parts.items()
            if what in whats
        )
    )


def _used(columns: Any) -> list[ColumnElement[Any]]:
    tokens = columns.input + columns.output + columns.cache_read + columns.cache_write
    unpriced = func.sum(case((columns.cost_usd.is_(None) & (tokens > 0), 1), else_=0)).label("unpriced")
    sums = (func.sum(columns[name]).label(name) for name in TOKENS)
    return [unpriced, *sums, func.sum(columns.cost_usd).label("cost_usd")]


def _known(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """The column with an empty text where it is null: a key has no nulls."""
    return func.coalesce(column, _NONE)
