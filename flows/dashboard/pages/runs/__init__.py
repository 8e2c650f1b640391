"""``/runs``: the runs that an address asks for, a page at a time, the running ones live.

/runs?window=7d&status=failed&kind=overflow&model=openai/*    what is asked for
/runs?after=RUN   /runs?before=RUN                            the runs older, and newer than one
/runs?order=cost&pass=50                                      the dearest, less the first 50
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import Request
from nicegui import ui

from atomic.text import Masker
from flows.dashboard.asking import Question, read_cursor, read_number, read_question
from flows.dashboard.controls import from_history, show_filter, show_ways, show_window
from flows.dashboard.elements import el, link, moment
from flows.dashboard.layout import frame
from flows.dashboard.live import follow
from flows.dashboard.pages.runs.empty import no_runs
from flows.dashboard.pages.runs.rows import Rows
from flows.dashboard.sources import Sources
from flows.history import (
    Cursor,
    Facets,
    Page,
    RunFilter,
    RunRow,
    facets,
    local_zone,
    ranked_page,
    run_rows,
    runs_page,
)

SHOWN = 50  # rows of a page
WINDOW = "all"
NEWER = 99  # runs that began meanwhile which are counted


@dataclass(frozen=True, slots=True)
class Listed:
    """A page of runs, with the addresses of those before and after it."""

    rows: tuple[RunRow, ...]
    total: int | None
    earlier: str | None  # the page of newer, or dearer runs
    later: str | None
    looked_back_to: float | None
    facets: Facets
    masker: Masker
    asked: RunFilter
    first: bool  # whether the newest runs are on it


def register(sources: Sources) -> None:
    """``/runs``."""

    @ui.page("/runs")
    async def page(request: Request) -> None:
        question = read_question(request.query_params.multi_items(), window=WINDOW)
        after, before = (read_cursor(request.query_params.get(name)) for name in ("after", "before"))
        passed = read_number(request.query_params.get("pass"))
        listed = await from_history(lambda: look(sources, question, after, before, passed))
        if listed is None:
            return
        with frame("Runs", "/runs"):
            with el("div", None, "head"):
                el("h1", "Runs")
                show_window(question, "/runs", local_zone())
            show_filter(question, "/runs", listed.facets, orders=True)
            show_listed(sources, question, listed)


def look(sources: Sources, question: Question, after: Cursor | None, before: Cursor | None, passed: int) -> Listed:
    """Ask the history. Blocks. Raises DatabaseError."""
    database = sources.database
    asked = question.asked(time.time(), local_zone())
    there, masker = facets(database), sources.masker()
    if question.rank is not None:
        ranked = ranked_page(database, asked, by=question.rank, after=passed, limit=SHOWN)
        earlier = question.to("/runs", **{"pass": max(passed - SHOWN, 0) or None}) if passed else None
        later = None if ranked.next is None else question.to("/runs", **{"pass": ranked.next})
        return Listed(ranked.rows, None, earlier, later, ranked.looked_back_to, there, masker, asked, first=False)
    found = runs_page(database, asked, before=before, limit=SHOWN) if before and not after else None
    if found is None or found.newer is None:  # the first page is shown whole, wherever one comes from
        after = after if found is None else None
        found = runs_page(database, asked, after=after, limit=SHOWN)
    return _listed(question, found, there, masker, asked, after)


def _listed(
    question: Question, found: Page, there: Facets, masker: Masker, asked: RunFilter, after: Cursor | None
) -> Listed:
    first = found.newer is None and after is None
    earlier = None if first else question.to("/runs", before=found.newer)  # without a cursor: the newest
    later = None if found.next is None else question.to("/runs", after=found.next)
    return Listed(found.rows, found.total, earlier, later, found.looked_back_to, there, masker, asked, first=first)


def show_listed(sources: Sources, question: Question, listed: Listed) -> None:
    """The rows, and what is around them."""
    if not listed.rows and listed.later is None and listed.earlier is None:
        no_runs(question, "/runs", any_at_all=listed.total is None or _any_runs(sources))
        return
    with el("div", None, "above"):
        el("p", _counted(listed), "muted")
        link("Sum these up", question.only(order="").to("/"))
        if (day := question.window.first) is not None and day == question.window.last:
            link("Compare with the day before", f"/compare?b={day}")
    news = el("p", None, "news", role="status")
    rows = Rows(listed.rows, listed.masker, question)
    if listed.looked_back_to is not None:
        with el("p", None, "muted"):
            el("span", "Looked at the newest runs, back to ")
            moment(listed.looked_back_to)
            el("span", ".")
    names = ("Newer", "Older") if question.rank is None else ("Before", "After")
    show_ways(listed.earlier, listed.later, names)
    _keep_fresh(sources, question, listed, rows, news)


def _any_runs(sources: Sources) -> bool:
    return bool(runs_page(sources.database, RunFilter(), limit=1).rows)


def _counted(listed: Listed) -> str:
    if listed.total is not None:
        return f"{listed.total:,} run{'' if listed.total == 1 else 's'}"
    return f"{len(listed.rows):,} runs of many" if listed.later or listed.earlier else f"{len(listed.rows):,} runs"


def _keep_fresh(sources: Sources, question: Question, listed: Listed, rows: Rows, news: ui.element) -> None:
    """Running rows are asked for anew; on the first page, also whether there are newer ones."""
    top = listed.rows[0].run_id if listed.rows and listed.first else None
    counts = top is not None and listed.asked.until is None
    if not counts and not rows.running:
        return

    def ask() -> tuple[Sequence[RunRow], int]:
        fresh = run_rows(sources.database, rows.running) if rows.running else ()
        newer = runs_page(sources.database, listed.asked, before=top, limit=NEWER) if counts else None
        return fresh, len(newer.rows) + (newer.newer is not None) if newer else 0

    said = 0

    def show(found: tuple[Sequence[RunRow], int]) -> bool:
        nonlocal said
        fresh, newer = found
        rows.update(fresh)
        if newer != said:
            said = newer
            news.clear()
            with news:
                more = f"more than {NEWER}" if newer > NEWER else str(newer)
                link(f"Show {more} newer run{'' if newer == 1 else 's'}", question.to("/runs"))
        return counts or bool(rows.running)

    follow(ask, show)
