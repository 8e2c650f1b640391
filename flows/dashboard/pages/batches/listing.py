"""``/batches``: those begun last first, each with its newest edition."""

from __future__ import annotations

from fastapi import Request
from nicegui import ui

from atomic.text import one_line
from flows.dashboard.asking import read_number
from flows.dashboard.controls import from_history, show_ways
from flows.dashboard.elements import el, link, moment
from flows.dashboard.layout import frame
from flows.dashboard.live import follow
from flows.dashboard.pages.batches.standing import address, done, runs_of, seconds_left, show_bar, show_state
from flows.dashboard.sources import Sources
from flows.dashboard.tables import number, table
from flows.dashboard.units import NOTHING, dollars, seconds
from flows.history import BatchPage, BatchRow, batches_page

SHOWN = 30
HEADS = ("Batch", "State", "Progress", "Done", "Failed", "A minute", "Left", "Cost", "Begun")
NAMED = 120  # characters of a name


def register(sources: Sources) -> None:
    """The page."""

    @ui.page("/batches")
    async def page(request: Request) -> None:
        passed = read_number(request.query_params.get("pass"))

        def look() -> BatchPage:
            return batches_page(sources.database, after=passed, limit=SHOWN)

        found = await from_history(look)
        if found is None:
            return
        with frame("Batches", "/batches"):
            el("h1", "Batches")
            if not found.rows and not passed:
                _none()
                return
            with table("Batches, the one begun last first", HEADS, "batches", numbers=6) as body:
                _rows(found)
            show_ways(
                f"/batches?pass={max(passed - SHOWN, 0)}" if passed else None,
                None if found.next is None else f"/batches?pass={found.next}",
            )
            now = found

            def show(fresh: BatchPage) -> bool:
                nonlocal now
                if fresh != now:
                    now = fresh
                    body.clear()
                    with body:
                        _rows(fresh)
                return True

            follow(look, show)


def _rows(found: BatchPage) -> None:
    for row in found.rows:
        with el("tr"):
            _row(row)


def _row(row: BatchRow) -> None:
    newest = row.newest
    with el("th", None, "name", scope="row"):
        link(one_line(row.name, NAMED), address(row.name))
        if newest is not None:
            more = f", {row.editions:,} editions" if row.editions > 1 else ""
            el("span", f"{one_line(newest.name, NAMED)}{more}", "muted small block")
    if newest is None:
        el("td", "no edition yet", "muted", colspan=str(len(HEADS) - 1))
        return
    with el("td"):
        show_state(newest)
    with el("td", None, "bars"):
        show_bar(newest)
    number(done(newest))
    failed = newest.counts.failed
    number(f"{failed:,}", runs_of(newest).only(status=("failed",)).to("/runs") if failed else None)
    number(NOTHING if newest.rate is None else f"{newest.rate:.1f}")
    number(seconds(seconds_left(newest)))
    number(dollars(newest.cost_usd), runs_of(newest).only(order="cost").to("/runs"))
    with el("td", None, "n"):
        moment(newest.begun_at)


def _none() -> None:
    with el("div", None, "empty"):
        el("h2", "There are no batches yet")
        with el("p"):
            el("span", "Carry out every prompt of a file, and it is listed here: ")
            el("code", "atomic-flows batch prompts.jsonl")
