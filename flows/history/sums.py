"""What runs came to and cost. Every answer is about the runs that a filter means: for a time alone all of them, for
anything else the newest LOOKS that its first label leads to (``Overview.whole`` and ``looked_back_to`` say so). Days
are those of a time zone, by default the user's. All raise DatabaseError."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import tzinfo

from sqlalchemy import ColumnElement, FromClause, func, select

from flows.database import Database
from flows.database.buckets import seconds_of
from flows.history.days import Histograms
from flows.history.facts import (
    RUNNING,
    DayOutcome,
    DaySpend,
    Hop,
    KindCount,
    ModelCost,
    ModelDuration,
    Overview,
    RunFilter,
)
from flows.history.grouped import ATTEMPT, RUN, TOKEN, TOKENS
from flows.history.source import Source, date_of, source


def overview(database: Database, asked: RunFilter, zone: tzinfo | None = None) -> Overview:
    """All figures in short."""
    with source(database, asked, zone) as found:
        return overview_of(found)


def overview_of(found: Source) -> Overview:
    """The same of an open source."""
    t = found.outcomes()
    sums = (_sum(t.c[name]) for name in ("runs", "hopped", "unpriced", *TOKENS))
    by_status = select(t.c.status, *sums, func.sum(t.c.cost_usd)).group_by(t.c.status)
    rows = {row[0]: row[1:] for row in found.connection.execute(by_status)}
    runs, hopped, unpriced, *tokens = (int(sum(row[n] for row in rows.values())) for n in range(3 + len(TOKENS)))
    costs = [row[-1] for row in rows.values() if row[-1] is not None]
    m = found.models()
    failed = select(func.sum(m.c.cost_usd)).where(m.c.status == "failed")
    times = found.times(RUN, TOKEN)
    p50, p95 = percentiles(_of(times, RUN))
    ttft_p50, ttft_p95 = percentiles(_of(times, TOKEN))
    counted = {status: int(row[0]) for status, row in rows.items()}
    return Overview(
        runs=runs,
        answered=counted.get("answered", 0),
        failed=counted.get("failed", 0),
        running=counted.get(RUNNING, 0),
        hopped=hopped,
        cost_usd=sum(costs) if costs else None,
        unpriced=unpriced,
        **dict(zip(TOKENS, tokens, strict=True)),
        p50=p50,
        p95=p95,
        ttft_p50=ttft_p50,
        ttft_p95=ttft_p95,
        failed_cost_usd=found.connection.execute(failed).scalar(),
        whole=found.looked_back_to is None,
        looked_back_to=found.looked_back_to,
    )


def outcomes_by_day(database: Database, asked: RunFilter, zone: tzinfo | None = None) -> tuple[DayOutcome, ...]:
    """How many runs of each day came to what, the first day first; of a day the most frequent first."""
    with source(database, asked, zone) as found:
        t = found.outcomes(by_day=True)
        query = select(t.c.day, t.c.status, t.c.kind, _sum(t.c.runs)).group_by(t.c.day, t.c.status, t.c.kind)
        counted: Counter[tuple[int, str]] = Counter()
        for day, status, kind, runs in found.connection.execute(query):
            counted[int(day), _outcome(status, kind)] += int(runs)
    ordered = sorted(counted.items(), key=lambda one: (one[0][0], -one[1], one[0][1]))
    return tuple(DayOutcome(date_of(day), kind, runs) for (day, kind), runs in ordered)


def outcomes_of(found: Source) -> dict[str, int]:
    """How many runs came to what."""
    t = found.outcomes()
    query = select(t.c.status, t.c.kind, _sum(t.c.runs)).group_by(t.c.status, t.c.kind)
    counted: Counter[str] = Counter()
    for status, kind, runs in found.connection.execute(query):
        counted[_outcome(status, kind)] += int(runs)
    return dict(counted.most_common())


def spend_by_day(database: Database, asked: RunFilter, zone: tzinfo | None = None) -> tuple[DaySpend, ...]:
    """What each model cost on each day, the first day first."""
    with source(database, asked, zone) as found:
        t = found.models(by_day=True)
        query = select(t.c.day, t.c.model, func.sum(t.c.cost_usd)).group_by(t.c.day, t.c.model)
        rows = found.connection.execute(query.order_by(t.c.day, t.c.model)).all()
    return tuple(DaySpend(date_of(int(day)), model or None, cost) for day, model, cost in rows)


def cost_by_model(database: Database, asked: RunFilter, zone: tzinfo | None = None) -> tuple[ModelCost, ...]:
    """What each model was paid for, the dearest first."""
    with source(database, asked, zone) as found:
        return models_of(found)


def models_of(found: Source) -> tuple[ModelCost, ...]:
    """The same of an open source."""
    t = found.models()
    sums = (_sum(t.c[name]) for name in ("attempts", "unpriced", *TOKENS))
    query = select(t.c.model, t.c.status, func.sum(t.c.cost_usd), *sums).group_by(t.c.model, t.c.status)
    by_model: dict[str, list[tuple[str, float | None, list[int]]]] = defaultdict(list)
    for model, status, cost, *counts in found.connection.execute(query):
        by_model[model].append((status, cost, [int(n) for n in counts]))
    costs = []
    for model, parts in by_model.items():
        attempts, unpriced, *tokens = (sum(counts[n] for _, _, counts in parts) for n in range(2 + len(TOKENS)))
        known = [cost for _, cost, _ in parts if cost is not None]
        lost = [cost for status, cost, _ in parts if cost is not None and status == "failed"]
        costs.append(
            ModelCost(
                model=model or None,
                attempts=attempts,
                answers=sum(counts[0] for status, _, counts in parts if status == "answered"),
                cost_usd=sum(known) if known else None,
                failed_cost_usd=sum(lost) if lost else None,
                unpriced=unpriced,
                **dict(zip(TOKENS, tokens, strict=True)),
            )
        )
    return tuple(sorted(costs, key=lambda one: (-(one.cost_usd or 0), -one.attempts, one.model or "")))


def hops(database: Database, asked: RunFilter, zone: tzinfo | None = None) -> tuple[Hop, ...]:
    """From which model to which, and why; the most frequent first."""
    with source(database, asked, zone) as found:
        t = found.hops()
        by = (t.c.source, t.c.target, t.c.kind)
        n = _sum(t.c.runs)
        rows = found.connection.execute(select(*by, n).group_by(*by).order_by(n.desc(), *by)).all()
    return tuple(Hop(source or None, target or None, kind, int(runs)) for source, target, kind, runs in rows)


def kinds(database: Database, asked: RunFilter, zone: tzinfo | None = None) -> tuple[KindCount, ...]:
    """For which kinds attempts and runs failed, the most frequent first."""
    with source(database, asked, zone) as found:
        m, t = found.models(), found.outcomes()
        attempts = _by_kind(found, m, m.c.attempts)
        runs = _by_kind(found, t, t.c.runs)
    counted = [KindCount(kind, attempts.get(kind, 0), runs.get(kind, 0)) for kind in {*attempts, *runs}]
    return tuple(sorted(counted, key=lambda one: (-one.attempts, -one.runs, one.kind)))


def durations(database: Database, asked: RunFilter, zone: tzinfo | None = None) -> tuple[ModelDuration, ...]:
    """How long the attempts of each model took, the model with the most attempts first."""
    with source(database, asked, zone) as found:
        times = found.times(ATTEMPT, TOKEN)
    rows = []
    for model in {model for _, model in times}:
        took = _of(times, ATTEMPT, model)
        p50, p95 = percentiles(took)
        ttft_p50, ttft_p95 = percentiles(_of(times, TOKEN, model))
        rows.append(ModelDuration(model or None, sum(took.values()), p50, p95, ttft_p50, ttft_p95))
    return tuple(sorted(rows, key=lambda one: (-one.attempts, one.model or "")))


def percentiles(counted: Mapping[int, int]) -> tuple[float | None, float | None]:
    """The median and the 95th percentile (nearest rank) of durations in buckets, in seconds."""
    total = sum(counted.values())
    if not total:
        return None, None
    found = []
    for of_all in (0.5, 0.95):
        rank, seen = math.ceil(of_all * total), 0
        for bucket in sorted(counted):
            seen += counted[bucket]
            if seen >= rank:
                found.append(seconds_of(bucket))
                break
    return found[0], found[1]


def _of(times: Histograms, what: str, model: str | None = None) -> Counter[int]:
    counted: Counter[int] = Counter()
    for (timed, whose), histogram in times.items():
        if timed == what and model in (None, whose):
            counted.update(histogram)
    return counted


def _by_kind(found: Source, t: FromClause, n: ColumnElement[int]) -> dict[str, int]:
    query = select(t.c.kind, _sum(n)).where(t.c.kind != "").group_by(t.c.kind)
    return {kind: int(count) for kind, count in found.connection.execute(query)}


def _outcome(status: str, kind: str) -> str:
    return (kind or status) if status == "failed" else status


def _sum(column: ColumnElement[int]) -> ColumnElement[int]:
    return func.coalesce(func.sum(column), 0)
