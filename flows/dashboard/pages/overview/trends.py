"""Day by day: outcomes by kind, failures by kind, cost by model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import date, tzinfo

from flows.dashboard.asking import Question, days
from flows.dashboard.charts import Series, day_chart, each_day
from flows.dashboard.elements import el, link
from flows.dashboard.outcomes import family_of, pattern_of, words
from flows.dashboard.text import OWN_MODEL
from flows.dashboard.units import dollars
from flows.history import ANSWERED, RUNNING, DayOutcome, DaySpend, ModelCost
from flows.history.zones import day_of

COLOURED = 6  # models with a colour of their own; the others share one
NARROW = 31  # days whose bars can be told apart in a third of the page's width
OTHERS = "other models"


def show(
    question: Question,
    outcomes: Sequence[DayOutcome],
    spend: Sequence[DaySpend],
    models: Sequence[ModelCost],
    now: float,
    zone: tzinfo,
) -> None:
    """The charts."""
    shown = _days(question, [*(one.day for one in outcomes), *(one.day for one in spend)], now, zone)
    of_runs = outcome_series(question, outcomes, shown)
    failed = [one for one in of_runs if one.name not in (ANSWERED, RUNNING)]
    with el("div", None, "charts" if len(shown) <= NARROW else "charts long"):
        with el("section", None, "panel"):
            el("h2", "Runs by day")
            whole = len(of_runs) - len(failed)
            day_chart("Runs by day and outcome", shown, of_runs, unit="count", show=_whole, keys=whole)
        if failed:
            with el("section", None, "panel"):
                el("h2", "Failed runs by day")
                day_chart("Failed runs by day and kind", shown, failed, unit="count", show=_whole)
        with el("section", None, "panel"):
            with el("div", None, "titled"):
                el("h2", "Cost by day")
                link("Compare two days", "/compare", "small")
            of_models = spend_series(question, spend, models, shown)
            day_chart("Cost by day and model", shown, of_models, unit="money", show=dollars)


def outcome_series(question: Question, outcomes: Sequence[DayOutcome], shown: Sequence[date]) -> list[Series]:
    """Failures at the bottom, the most frequent first, where they are compared from day to day; answers on top."""
    counted: dict[str, dict[date, int]] = defaultdict(dict)
    for one in outcomes:
        counted[one.kind][one.day] = one.runs
    failed = [kind for kind in counted if kind not in (ANSWERED, RUNNING)]
    ordered = sorted(failed, key=lambda kind: (-sum(counted[kind].values()), kind))
    ordered += [kind for kind in (RUNNING, ANSWERED) if kind in counted]
    return [_outcome(question, kind, [counted[kind].get(day) for day in shown]) for kind in ordered]


def _outcome(question: Question, kind: str, values: Sequence[int | None]) -> Series:
    there = kind in (ANSWERED, RUNNING)
    those = _of_kind(question, kind)
    return Series(
        name=kind if there else words("failed", kind),
        colour=family_of(kind if there else "failed", kind).name,
        values=values,
        pattern=0 if there else pattern_of(kind),
        to=lambda day: those.only(window=days(day)).to("/runs"),
        whole=those.to("/runs"),
    )


def _of_kind(question: Question, kind: str) -> Question:
    if kind in (ANSWERED, RUNNING):
        return question.only(status=(kind,))
    return question.only(status=("failed",), kind=(kind,))


def colours_of(models: Sequence[ModelCost]) -> dict[str | None, str]:
    """The colours of the dearest models, by their names."""
    return {one.model: f"m{n}" for n, one in enumerate(models[:COLOURED]) if one.cost_usd}


def spend_series(
    question: Question, spend: Sequence[DaySpend], models: Sequence[ModelCost], shown: Sequence[date]
) -> list[Series]:
    """The dearest at the bottom."""
    colours = colours_of(models)
    paid: dict[str | None, dict[date, float]] = defaultdict(dict)
    others: dict[date, float] = {}
    for one in spend:
        if one.cost_usd:
            of_days = paid[one.model] if one.model in colours else others
            of_days[one.day] = of_days.get(one.day, 0.0) + one.cost_usd
    found = [
        Series(
            name=model or OWN_MODEL,
            colour=colour,
            values=[paid[model].get(day) for day in shown],
            to=_of_model(question, model),
            whole=None if model is None else question.only(model=(model,), order="cost").to("/runs"),
        )
        for model, colour in colours.items()
    ]
    if others:
        found.append(Series(OTHERS, "rest", [others.get(day) for day in shown], to=_of_model(question, None)))
    return found


def _of_model(question: Question, model: str | None) -> Callable[[date], str]:
    those = question if model is None else question.only(model=(model,))
    return lambda day: those.only(window=days(day), order="cost").to("/runs")


def _days(question: Question, seen: Sequence[date], now: float, zone: tzinfo) -> list[date]:
    since, until = question.window.span(now, zone)
    today = day_of(now, zone)
    first = min(seen, default=today) if since is None else day_of(since, zone)
    last = today if until is None else min(day_of(until - 1, zone), today)
    return each_day(min(first, last), max(last, first))


def _whole(number: float) -> str:
    return f"{int(number):,}"
