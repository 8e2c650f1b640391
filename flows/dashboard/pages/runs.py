"""The newest runs."""

from __future__ import annotations

import asyncio
from itertools import islice

from nicegui import ui

from atomic.record import RunRecord, find_runs
from atomic.record.query import RunQuery
from flows.dashboard.elements import el, link
from flows.dashboard.layout import frame
from flows.dashboard.sources import Sources

SHOWN = 50


def register(sources: Sources) -> None:
    """``/runs``."""

    @ui.page("/runs")
    @ui.page("/")
    async def runs_page() -> None:
        runs = await asyncio.to_thread(_newest, sources)
        with frame("Runs", "/runs"):
            el("h1", "Runs")
            with el("ul"):
                for run in runs:
                    with el("li"):
                        link(run.run_id, f"/runs/{run.run_id}")


def _newest(sources: Sources) -> list[RunRecord]:
    return list(islice(find_runs(sources.store, RunQuery()), SHOWN))
