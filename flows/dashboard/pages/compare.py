"""``/compare?a=DAY&b=DAY``: one day against another, and what made the difference."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

from fastapi import Request
from nicegui import ui

from flows.cli.figures import count
from flows.dashboard.asking import Question, days, read_day
from flows.dashboard.changes import Shift, findings, shifts, signed
from flows.dashboard.charts import swatch
from flows.dashboard.controls import from_history
from flows.dashboard.elements import el, link
from flows.dashboard.layout import frame
from flows.dashboard.outcomes import family_of, pattern_of, words
from flows.dashboard.sources import Sources
from flows.dashboard.tables import number, table
from flows.dashboard.text import OWN_MODEL
from flows.dashboard.units import change, dollars, percent, seconds
from flows.history import ANSWERED, RUNNING, Comparison, Overview, RunFilter, compare, local_zone
from flows.history.facts import share
from flows.history.zones import day_of, zone_name

SHOWN = 12  # models, and kinds
NAMED = 80  # characters of a model's name


def register(sources: Sources) -> None:
    """The page."""

    @ui.page("/compare")
    async def page(request: Request) -> None:
        zone = local_zone()
        today = day_of(time.time(), zone)
        b = read_day(request.query_params.get("b")) or today - timedelta(days=1)
        a = read_day(request.query_params.get("a")) or b - timedelta(days=1)
        found = await from_history(lambda: compare(sources.database, a, b, zone))
        if found is None:
            return
        with frame(f"{b} against {a}", "/"):
            with el("nav", None, "trail", aria_label="Where this is"):
                link("Overview", "/")
                el("span", "/", aria_hidden="true")
                el("span", "Two days")
            with el("div", None, "head"):
                el("h1", f"{_named(b)} against {_named(a)}")
                _form(a, b, zone_name(zone))
            if today in (a, b):
                el("p", "Today is not over: its figures are those so far.", "warning")
            _findings(found)
            _figures(found)
            with el("div", None, "halves"):
                _models(found)
                _outcomes(found)


def _form(a: date, b: date, zone: str) -> None:
    with el("form", None, "two-days", method="get", action="/compare", data_asks=True):
        for name, title, day in (("a", "Before", a), ("b", "After", b)):
            with el("label"):
                el("span", title)
                el("input", type="date", name=name, value=day.isoformat())
        el("button", "Compare", type="submit")
        el("span", f"days of {zone}", "muted small")


def _of_day(day: date, **labels: Any) -> Question:
    return Question(days(day), RunFilter(**labels))


def _findings(found: Comparison) -> None:
    with el("section", None, "panel"):
        el("h2", "What changed")
        told = findings(found)
        if not told:
            el("p", "There are no two days with runs to compare.", "muted")
        with el("ul", None, "findings"):
            for one in told:
                with el("li"):
                    el("span", f"{one.text} ")
                    if one.labels is None:
                        continue
                    those = _of_day(found.b.day, **one.labels)
                    link("Runs", those.only(order="cost" if one.dearest else "").to("/runs"), "small")


def _figures(found: Comparison) -> None:
    sides = (found.a, found.b)
    with el("section", None, "panel"), table("Figures of both days", _heads("", found), numbers=3):
        for name, figures, show in _rows(found.a.overview, found.b.overview):
            with el("tr"):
                el("th", name, scope="row")
                for side, figure in zip(sides, figures, strict=True):
                    number("–" if figure is None else show(figure), _of_day(side.day).to("/runs"))
                number(change(*figures))


def _rows(a: Overview, b: Overview) -> list[tuple[str, tuple[float | None, float | None], Callable[[float], str]]]:
    def both(of: Callable[[Overview], float | None]) -> tuple[float | None, float | None]:
        return of(a), of(b)

    return [
        ("Runs", both(lambda one: one.runs), _whole),
        ("Answered", both(lambda one: one.answered_share), percent),
        ("Answered by another model than the first", both(lambda one: share(one.hopped, one.answered)), percent),
        ("Cost", both(lambda one: one.cost_usd), dollars),
        ("Cost of an answer", both(lambda one: share(one.cost_usd, one.answered)), dollars),
        ("Spent on failed attempts", both(lambda one: one.failed_cost_usd), dollars),
        ("Tokens", both(lambda one: one.tokens), lambda figure: count(int(figure))),
        ("Input from the cache", both(lambda one: one.cache_share), percent),
        ("Duration, median", both(lambda one: one.p50), seconds),
        ("Duration, 95 %", both(lambda one: one.p95), seconds),
    ]


def _whole(figure: float) -> str:
    return f"{int(figure):,}"


def _named(day: date) -> str:
    return f"{day:%A} {day}"


def _heads(first: str, found: Comparison) -> list[str]:
    return [first, f"{found.a.day:%a} {found.a.day}", f"{found.b.day:%a} {found.b.day}", "Change"]


def _models(found: Comparison) -> None:
    with el("section", None, "panel"):
        el("h2", "Cost by model")
        changed = shifts(found)
        with table("Cost of each model on both days", _heads("Model", found), numbers=3):
            for one in changed[:SHOWN]:
                _shift(found, one)
        if len(changed) > SHOWN:
            el("p", f"{len(changed) - SHOWN:,} more models are not shown.", "muted small")


def _shift(found: Comparison, one: Shift) -> None:
    labels: dict[str, Any] = {"model": (one.model,)} if one.model else {}
    with el("tr"):
        with el("th", None, "name", scope="row"):
            el("span", (one.model or OWN_MODEL)[:NAMED])
        for side, cost in ((found.a, one.a), (found.b, one.b)):
            paid = None if cost is None else cost.cost_usd
            number(dollars(paid), _of_day(side.day, **labels).only(order="cost").to("/runs"))
        number(signed(one.more) if one.more else "–")


def _outcomes(found: Comparison) -> None:
    with el("section", None, "panel"):
        el("h2", "Runs by outcome")
        kinds = sorted({**found.a.kinds, **found.b.kinds}, key=lambda kind: (-found.b.kinds.get(kind, 0), kind))
        with table("Runs of both days by outcome", _heads("Outcome", found), numbers=3):
            for kind in kinds[:SHOWN]:
                there = kind in (ANSWERED, RUNNING)
                status = kind if there else "failed"
                with el("tr"):
                    with el("th", None, "name", scope="row"):
                        swatch(family_of(status, kind).name, 0 if there else pattern_of(kind))
                        el("span", words(status, kind))
                    for side in (found.a, found.b):
                        n = side.kinds.get(kind, 0)
                        labels = {"status": (status,)} if there else {"status": (status,), "kind": (kind,)}
                        number(f"{n:,}", _of_day(side.day, **labels).to("/runs") if n else None)
                    number(f"{found.b.kinds.get(kind, 0) - found.a.kinds.get(kind, 0):+,}".replace("-", "−"))
