"""How the models are now: what they answered in the last day, and until when they cool down."""

from __future__ import annotations

from collections.abc import Sequence

from flows.dashboard.asking import Question, Window
from flows.dashboard.elements import el, link, moment
from flows.dashboard.outcomes import family_of, words
from flows.dashboard.tables import number, table
from flows.dashboard.text import OWN_MODEL
from flows.dashboard.units import percent
from flows.history import ModelHealth, RunFilter

NAMED = 80  # characters of a model's name
REASON = 200  # characters of why it cools down


def show_health(models: Sequence[ModelHealth]) -> None:
    """A row for each."""
    if not models:
        el("p", "No model was asked, and none cools down.", "muted")
        return
    with table("Models in the last 24 hours", ["Model", "Now", "Last failure", "Answered", "Attempts"], numbers=2):
        for one in models:
            day = Question(Window("24h"), RunFilter(model=(one.model,) if one.model else ()))
            with el("tr"):
                with el("th", None, "name", scope="row"):
                    link((one.model or OWN_MODEL)[:NAMED], day.to("/runs"), "plain")
                with el("td"):
                    _now(one)
                with el("td"):
                    if one.last_kind is not None:
                        family = family_of("failed", one.last_kind)
                        el("span", words("failed", one.last_kind), f"toned {family.name}")
                        el("span", " ")
                        moment(one.last_failed_at, "muted small")
                number(percent(one.answered_share))
                number(f"{one.attempts:,}", day.to("/runs"))


def _now(one: ModelHealth) -> None:
    if one.cooldown_until is None:
        el("span", "ready", "muted")
        return
    with el("span", None, "toned waits", title=one.cooldown_reason[:REASON] or False):
        el("span", "◷ ", aria_hidden="true")
        el("span", "cools down until ")
        moment(one.cooldown_until)
