"""Sums over runs in lines for a person on stdout: figures, tables, small bars. All parts are cleaned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from typing import IO

from atomic.text import one_line
from flows.cli.figures import clock, count, duration, money, several
from flows.cli.output import BOLD, DIM, GREEN, RED, YELLOW, paint
from flows.cli.sentences import OWN_MODEL
from flows.cli.tables import Cell, Column, paragraph, parts, table
from flows.history import Comparison, DayFigures, DayOutcome, Hop, ModelCost, ModelDuration, Overview
from flows.history.facts import ANSWERED, RUNNING
from flows.history.summary import Summary

BAR, SMALL = 24, 12  # cells of the longest bar; of one that stands among words
EIGHTHS = " ▏▎▍▌▋▊▉"
DAYS = 31  # the newest: a month
HOPS = 12
NAME = 48  # characters of a model's name


def stats_page(found: Summary, stream: IO[str]) -> Iterator[str]:
    """All that is known of some runs, in a screen or two."""
    yield from _head(found.overview, stream)
    outcomes = Counter[str]()
    for one in found.days:
        outcomes[one.kind] += one.runs
    yield from _part("what came of them", _outcomes(outcomes, stream), stream)
    if len({one.day for one in found.days}) > 1:
        yield from _part("by day", _days(found.days, stream), stream)
    yield from _part("models", _models(found.models, found.durations, stream), stream)
    if found.hops:
        yield from _part("hops", _hops(found.hops, stream), stream)


def _head(whole: Overview, stream: IO[str]) -> Iterator[str]:
    if whole.looked_back_to is not None:
        yield paint(f"of the newest, back to {clock(whole.looked_back_to)}:", YELLOW, stream=stream)
    yield from paragraph("", parts(_told(whole)), stream)
    yield from paragraph("", parts(_spent(whole)), stream)
    if whole.p50 is not None:
        yield from paragraph("", parts(_took(whole)), stream)


def _told(whole: Overview) -> Iterator[str]:
    yield f"{whole.runs:,} {'run' if whole.runs == 1 else 'runs'}"
    share = whole.answered_share
    yield f"{whole.answered:,} answered" + ("" if share is None else f" ({share:.0%})")
    yield f"{whole.failed:,} failed"
    if whole.running:
        yield f"{whole.running:,} running"
    yield f"{whole.hopped:,} not by their first model"


def _spent(whole: Overview) -> Iterator[str]:
    yield money(whole.cost_usd)
    if whole.failed_cost_usd:
        yield f"{money(whole.failed_cost_usd)} on attempts that failed"
    if whole.unpriced:
        yield f"cost of {several(whole.unpriced, 'run')} unknown"
    yield f"{count(whole.tokens)} tokens"
    if whole.cache_share is not None:
        yield f"{whole.cache_share:.0%} from the cache"


def _took(whole: Overview) -> Iterator[str]:
    yield f"half took less than {_seconds(whole.p50)}, 19 of 20 less than {_seconds(whole.p95)}"
    if whole.ttft_p50 is not None:
        yield f"first token after {_seconds(whole.ttft_p50)} and {_seconds(whole.ttft_p95)}"


def _part(title: str, lines: Iterable[str], stream: IO[str]) -> Iterator[str]:
    yield ""
    yield paint(title, BOLD, stream=stream)
    yield from lines


def _outcomes(outcomes: Counter[str], stream: IO[str]) -> list[str]:
    most, total = max(outcomes.values(), default=0), outcomes.total()
    columns = (Column("came to"), Column("runs", right=True), Column("share", right=True), Column("", least=8))
    rows: list[list[Cell]] = [
        [(kind, _colour(kind)), f"{n:,}", f"{n / total:.1%}", (bar(n, most), _colour(kind))]
        for kind, n in outcomes.most_common()
    ]
    return table(columns, rows, stream)


def _days(days: Sequence[DayOutcome], stream: IO[str]) -> list[str]:
    by_day: dict[date, Counter[str]] = {}
    for one in days:
        by_day.setdefault(one.day, Counter())[one.kind] += one.runs
    shown = list(by_day.items())[-DAYS:]
    most = max(counted.total() for _, counted in shown)
    columns = (
        Column("day"),
        Column("runs", right=True),
        Column("answered", right=True),
        Column("", least=8, rank=1),
        Column("failed most for", least=12),
    )
    rows: list[list[Cell]] = []
    for day, counted in shown:
        failed = Counter({kind: n for kind, n in counted.items() if kind not in (ANSWERED, RUNNING)})
        ended = counted.total() - counted[RUNNING]
        why = ", ".join(f"{kind} {n:,}" for kind, n in failed.most_common(2))
        share = f"{counted[ANSWERED] / ended:.0%}" if ended else ""
        rows.append([day.isoformat(), f"{counted.total():,}", share, (bar(counted.total(), most, SMALL), DIM), why])
    return table(columns, rows, stream)


def _models(costs: Sequence[ModelCost], durations: Sequence[ModelDuration], stream: IO[str]) -> list[str]:
    timed = {one.model: one for one in durations}
    columns = (
        Column("model", least=16, cut="middle"),
        Column("att", right=True),
        Column("answers", right=True),
        Column("cost", right=True),
        Column("an answer", right=True),
        Column("lost", right=True, rank=2),
        Column("cached", right=True, rank=4),
        Column("median", right=True, rank=1),
        Column("95 %", right=True, rank=3),
        Column("1st token", right=True, rank=5),
    )
    rows: list[list[Cell]] = []
    for one in costs:
        took = timed.get(one.model)
        rows.append(
            [
                _model(one.model),
                f"{one.attempts:,}",
                f"{one.answers:,}",
                _money(one.cost_usd),
                _money(one.cost_per_answer),
                _money(one.failed_cost_usd),
                "" if one.cache_share is None else f"{one.cache_share:.0%}",
                _seconds(took.p50 if took else None),
                _seconds(took.p95 if took else None),
                _seconds(took.ttft_p50 if took else None),
            ]
        )
    return table(columns, rows, stream)


def _hops(hops: Sequence[Hop], stream: IO[str]) -> list[str]:
    most = max(one.runs for one in hops)
    columns = (
        Column("from", least=14, cut="middle"),
        Column("to", least=14, cut="middle"),
        Column("after"),
        Column("times", right=True),
        Column("", least=6, rank=1),
    )
    rows: list[list[Cell]] = [
        [_model(one.source), _model(one.target), one.kind, f"{one.runs:,}", (bar(one.runs, most, SMALL), DIM)]
        for one in hops[:HOPS]
    ]
    return table(columns, rows, stream)


def comparison_page(found: Comparison, stream: IO[str]) -> Iterator[str]:
    """One day beside another."""
    a, b = found.a, found.b
    columns = (
        Column("", least=14),
        Column(a.day.isoformat(), right=True),
        Column(b.day.isoformat(), right=True),
        Column("change", right=True),
    )
    yield from table(columns, list(_compared(a, b)), stream)


def _compared(a: DayFigures, b: DayFigures) -> Iterator[list[Cell]]:
    x, y = a.overview, b.overview
    yield _counts("runs", x.runs, y.runs)
    yield _counts("answered", x.answered, y.answered)
    yield _shares("answered of those ended", x.answered_share, y.answered_share)
    yield _counts("not by their first model", x.hopped, y.hopped)
    yield _figures("cost", _money(x.cost_usd), _money(y.cost_usd), _change(x.cost_usd, y.cost_usd))
    p, q = x.failed_cost_usd, y.failed_cost_usd
    yield _figures("on attempts that failed", _money(p), _money(q), _change(p, q))
    yield _figures("tokens", count(x.tokens), count(y.tokens), _change(x.tokens, y.tokens))
    yield _shares("from the cache", x.cache_share, y.cache_share)
    for name, p, q in (
        ("median", x.p50, y.p50),
        ("95 %", x.p95, y.p95),
        ("first token, median", x.ttft_p50, y.ttft_p50),
    ):
        yield _figures(name, _seconds(p), _seconds(q), _change(p, q))
    for kind in sorted({*a.kinds, *b.kinds} - {ANSWERED}):
        yield _counts(kind, a.kinds.get(kind, 0), b.kinds.get(kind, 0))
    costs = ({one.model: one.cost_usd for one in day.models} for day in (a, b))
    first, second = costs
    for model in sorted({*first, *second}, key=lambda one: one or ""):
        p, q = first.get(model), second.get(model)
        yield _figures(_model(model), _money(p), _money(q), _change(p, q))


def _counts(name: str, a: int, b: int) -> list[Cell]:
    return _figures(name, f"{a:,}", f"{b:,}", _change(a, b))


def _shares(name: str, a: float | None, b: float | None) -> list[Cell]:
    told = ["–" if one is None else f"{one:.1%}" for one in (a, b)]
    change = "" if a is None or b is None else f"{(a - b) * 100:+.1f} pt"
    return _figures(name, told[0], told[1], change)


def _figures(name: str, a: str, b: str, change: str) -> list[Cell]:
    return [name, a, b, change]


def _change(a: float | None, b: float | None) -> str:
    if a is None or not b:
        return ""
    return f"{(a - b) / b:+.0%}"


def bar(n: float, most: float, cells: int = BAR) -> str:
    """A bar whose longest has so many cells; what is not nothing is at least a sliver."""
    eighths = max(round(n / most * cells * 8), 1) if most and n else 0
    whole, rest = divmod(eighths, 8)
    return "█" * whole + (EIGHTHS[rest] if rest else "")


def _colour(kind: str) -> str:
    return GREEN if kind == ANSWERED else YELLOW if kind == RUNNING else RED


def _model(model: str | None) -> str:
    return one_line(model or OWN_MODEL, NAME)


def _money(dollars: float | None) -> str:
    return "?" if dollars is None else money(dollars)


def _seconds(seconds: float | None) -> str:
    return "" if seconds is None else duration(seconds)
