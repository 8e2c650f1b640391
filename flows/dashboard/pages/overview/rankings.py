"""Which models, kinds and hops: tables with bars, each row leading to its runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from flows.cli.figures import count
from flows.dashboard.asking import Question
from flows.dashboard.charts import swatch
from flows.dashboard.elements import el, link
from flows.dashboard.outcomes import family_of, pattern_of, words
from flows.dashboard.pages.overview.models import show_health
from flows.dashboard.pages.overview.trends import colours_of
from flows.dashboard.tables import bar, number, table
from flows.dashboard.text import OWN_MODEL
from flows.dashboard.units import dollars, percent, seconds
from flows.history import Hop, KindCount, ModelCost, ModelDuration

if TYPE_CHECKING:
    from flows.dashboard.pages.overview import Found

SHOWN = 12  # rows of a table: what matters comes first
NAMED = 80  # characters of a model's name in a narrow table


def show(question: Question, found: Found) -> None:
    """All tables."""
    _models(question, found.models)
    with el("div", None, "halves"):
        with el("div", None, "pile"):
            _kinds(question, found.kinds)
            _durations(question, found.durations)
        _hops(question, found.hops)
    with el("section", None, "panel"):
        el("h2", "Models in the last 24 hours")
        show_health(found.health[:SHOWN])


def to_model(question: Question, model: str | None, **more: Any) -> str | None:
    """The runs of a model; the agent's own default has no name to look for."""
    return None if model is None else question.only(model=(model,), **more).to("/runs")


def _models(question: Question, models: Sequence[ModelCost]) -> None:
    colours = colours_of(models)
    most = max((one.cost_usd or 0 for one in models), default=0)
    heads = ["Model", "", "Cost", "An answer", "On failed attempts", "Attempts", "Answers", "Tokens", "From cache"]
    with el("section", None, "panel", id="models"):
        el("h2", "Cost by model")
        with table("Cost by model", heads, numbers=7):
            for one in models[:SHOWN]:
                with el("tr"):
                    with el("th", None, "name", scope="row"):
                        swatch(colours.get(one.model, "rest"))
                        _named(one.model, to_model(question, one.model, order="cost"))
                    with el("td", None, "bars"):
                        bar(one.cost_usd or 0, of=most)
                    number(dollars(one.cost_usd), to_model(question, one.model, order="cost"))
                    number(dollars(one.cost_per_answer))
                    number(dollars(one.failed_cost_usd), to_model(question, one.model, order="cost"))
                    number(f"{one.attempts:,}", to_model(question, one.model))
                    number(f"{one.answers:,}")
                    number(count(one.tokens))
                    number(percent(one.cache_share))
        _left(len(models), "models")


def _kinds(question: Question, kinds: Sequence[KindCount]) -> None:
    most = max((one.attempts for one in kinds), default=0)
    with el("section", None, "panel"):
        el("h2", "Why attempts failed")
        if not kinds:
            el("p", "No attempt failed.", "muted")
            return
        with table("Failed attempts by kind", ["Kind", "", "Attempts", "Runs lost"], numbers=2):
            for one in kinds[:SHOWN]:
                family = family_of("failed", one.kind)
                with el("tr"):
                    with el("th", None, "name", scope="row"):
                        swatch(family.name, pattern_of(one.kind))
                        link(words("failed", one.kind), question.only(kind=(one.kind,)).to("/runs"), "plain")
                    with el("td", None, "bars"):
                        bar(one.attempts, family.name, of=most)
                    number(f"{one.attempts:,}", question.only(kind=(one.kind,)).to("/runs"))
                    number(f"{one.runs:,}", question.only(kind=(one.kind,), status=("failed",)).to("/runs"))
        _left(len(kinds), "kinds")


def _hops(question: Question, hops: Sequence[Hop]) -> None:
    most = max((one.runs for one in hops), default=0)
    with el("section", None, "panel"):
        el("h2", "Hops to another model")
        if not hops:
            el("p", "No run went on to another model.", "muted")
            return
        with table("Hops by models and kind", ["From → to", "Because of", "", "Hops"], numbers=1):
            for one in hops[:SHOWN]:
                both = tuple(dict.fromkeys(model for model in (one.source, one.target) if model))
                to = question.only(kind=(one.kind,), model=both[:1]).to("/runs") if both else None
                with el("tr"):
                    with el("th", None, "hopped", scope="row"):
                        el("span", (one.source or OWN_MODEL)[:NAMED])
                        el("span", f"→ {(one.target or OWN_MODEL)[:NAMED]}")
                    with el("td", None, "name"):
                        swatch(family_of("failed", one.kind).name, pattern_of(one.kind))
                        el("span", words("failed", one.kind))
                    with el("td", None, "bars"):
                        bar(one.runs, family_of("failed", one.kind).name, of=most)
                    number(f"{one.runs:,}", to)
        _left(len(hops), "hops")


def _durations(question: Question, durations: Sequence[ModelDuration]) -> None:
    most = max((one.p95 or 0 for one in durations), default=0)
    with el("section", None, "panel", id="durations"):
        el("h2", "Durations")
        heads = ["Model", "", "Median", "95 %", "First token", "95 %"]
        with table("How long attempts took, by model", heads, numbers=4):
            for one in durations[:SHOWN]:
                with el("tr"):
                    with el("th", None, "name", scope="row"):
                        _named(one.model, to_model(question, one.model, order="time"))
                    with el("td", None, "bars"), el("span", None, "length", aria_hidden="true"):
                        el("span", None, "filled faint").style(f"width:{_part(one.p95, most):.2%}")
                        el("span", None, "filled over").style(f"width:{_part(one.p50, most):.2%}")
                    number(seconds(one.p50))
                    number(seconds(one.p95), to_model(question, one.model, order="time"))
                    number(seconds(one.ttft_p50))
                    number(seconds(one.ttft_p95))
        _left(len(durations), "models")


def _part(took: float | None, most: float) -> float:
    return min((took or 0) / most, 1.0) if most else 0.0


def _named(model: str | None, to: str | None) -> None:
    if model is None or to is None:
        el("span", OWN_MODEL)
    else:
        link(model[:NAMED], to, "plain", title=model if len(model) > NAMED else False)


def _left(n: int, what: str) -> None:
    if n > SHOWN:
        el("p", f"{n - SHOWN:,} more {what} are not shown.", "muted small")
