"""``/``: what the runs of a time came to and cost, at a glance. Every figure leads to its runs."""

from __future__ import annotations

import time
from dataclasses import dataclass

from fastapi import Request
from nicegui import ui

from flows.dashboard.asking import Question, read_question
from flows.dashboard.controls import from_history, show_filter, show_window
from flows.dashboard.elements import el, moment
from flows.dashboard.layout import frame
from flows.dashboard.pages.overview import rankings, trends
from flows.dashboard.pages.overview.tiles import show_tiles
from flows.dashboard.pages.runs.empty import no_runs
from flows.dashboard.sources import Sources
from flows.history import (
    DayOutcome,
    DaySpend,
    Facets,
    Hop,
    KindCount,
    ModelCost,
    ModelDuration,
    ModelHealth,
    Overview,
    cost_by_model,
    durations,
    facets,
    health,
    hops,
    kinds,
    local_zone,
    outcomes_by_day,
    overview,
    spend_by_day,
)

WINDOW = "7d"  # what changed since last week is the question that brings people here
PATIENCE = 60.0  # seconds: the first look at a long history makes the figures of its days


@dataclass(frozen=True, slots=True)
class Found:
    """All that the page shows."""

    sums: Overview
    outcomes: tuple[DayOutcome, ...]
    spend: tuple[DaySpend, ...]
    models: tuple[ModelCost, ...]
    hops: tuple[Hop, ...]
    kinds: tuple[KindCount, ...]
    durations: tuple[ModelDuration, ...]
    health: tuple[ModelHealth, ...]
    facets: Facets


def look(sources: Sources, question: Question, now: float) -> Found:
    """Ask the history. Blocks. Raises DatabaseError."""
    zone, database = local_zone(), sources.database
    asked = question.asked(now, zone)
    return Found(
        sums=overview(database, asked, zone),
        outcomes=outcomes_by_day(database, asked, zone),
        spend=spend_by_day(database, asked, zone),
        models=cost_by_model(database, asked, zone),
        hops=hops(database, asked, zone),
        kinds=kinds(database, asked, zone),
        durations=durations(database, asked, zone),
        health=health(database, now),
        facets=facets(database),
    )


def register(sources: Sources) -> None:
    """``/``."""

    @ui.page("/", response_timeout=PATIENCE)
    async def page(request: Request) -> None:
        now, zone = time.time(), local_zone()
        question = read_question(request.query_params.multi_items(), window=WINDOW)
        found = await from_history(lambda: look(sources, question, now))
        if found is None:
            return
        with frame("Overview", "/"):
            with el("div", None, "head"):
                el("h1", "Overview")
                show_window(question, "/", zone)
            show_filter(question, "/", found.facets, orders=False)
            if not found.sums.runs:
                no_runs(question, "/", any_at_all=bool(found.facets.models or found.facets.providers))
                return
            show_tiles(question, found.sums)
            _partly(found.sums)
            trends.show(question, found.outcomes, found.spend, found.models, now, zone)
            rankings.show(question, found)


def _partly(sums: Overview) -> None:
    if not sums.whole:
        with el("p", None, "warning"):
            el("span", "Only the newest runs that match were summed up, from ")
            moment(sums.looked_back_to)
            el("span", " on. A shorter time shows all of its runs.")
