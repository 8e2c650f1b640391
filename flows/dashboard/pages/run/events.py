"""``/runs/ID/N/events``: the raw events, a page at a time, each under its number."""

from __future__ import annotations

import asyncio

from nicegui import ui

from flows.dashboard.elements import el, link
from flows.dashboard.layout import frame
from flows.dashboard.pages.run.asked import ask_attempt, positive
from flows.dashboard.pages.run.parts import show_attempt_head, show_pages
from flows.dashboard.records import AttemptFound
from flows.dashboard.sources import Sources
from flows.dashboard.streams import PAGE, RawEvent, RawPage, raw_page

PREVIEW = 160  # characters of an event's line before it is opened


def register(sources: Sources) -> None:
    """The page."""

    @ui.page("/runs/{run_id}/{number}/events")
    async def events_page(run_id: str, number: str) -> None:
        found = await ask_attempt(sources, run_id, number)
        if found is None:
            return
        asked, one = found
        query = ui.context.client.request.query_params
        chosen = positive(query.get("line"))
        first = positive(query.get("from")) or ((chosen or 1) - 1) // PAGE * PAGE + 1
        if one.folder is None:
            page = RawPage(first, (), more=False, problem="the attempt’s folder is gone")
        else:
            page = await asyncio.to_thread(raw_page, one.folder, first, asked.masker, chosen=chosen)
        with frame(f"Events of attempt {one.n} of {asked.run.run_id}", "/runs"):
            show_attempt_head(asked.run, one, asked.masker, "Raw events")
            _list(f"/runs/{asked.run.run_id}/{one.n}/events", page, one, chosen)


def _list(base: str, page: RawPage, one: AttemptFound, chosen: int | None) -> None:
    if page.problem:
        el("p", page.problem, "warning")
    if not page.events:
        if not page.problem:
            el("p", "There are no events here." if page.first > 1 else "The agent has written nothing.", "muted")
    else:
        with el("ol", None, "events", start=str(page.first)):
            for event in page.events:
                _event(base, event, chosen=event.line == chosen)
    last = page.first + len(page.events) - 1
    earlier = f"{base}?from={max(page.first - PAGE, 1)}" if page.first > 1 else None
    later = f"{base}?from={last + 1}" if page.more else None
    total = _lines(one)
    of = f" of {total:,}" if total is not None and page.events else ""
    show_pages(earlier, later, f"{page.first:,}–{last:,}{of}" if page.events else "")


def _lines(one: AttemptFound) -> int | None:
    verdict = one.record.verdict if one.record else None
    return verdict.records + verdict.noise if verdict is not None and not verdict.torn else None


def _event(base: str, event: RawEvent, *, chosen: bool) -> None:
    with (
        el("li", None, "chosen" if chosen else "", id=f"e{event.line}", aria_current="true" if chosen else False),
        el("details", open=chosen),
    ):
        with el("summary"):
            el("span", f"{event.line:,}", "number")
            el("span", event.type or "noise", "type" if event.type else "type bad")
            el("span", f"{event.size:,} B", "muted size")
            el("span", event.text[:PREVIEW], "preview")
        el("pre", event.text)
        if event.cut:
            with el("p", None, "muted small"):
                el("span", f"{event.cut:,} bytes are not shown. ")
                if not chosen:
                    link("Show more of it", f"{base}?line={event.line}#e{event.line}")
