"""One run."""

from __future__ import annotations

import asyncio

from nicegui import ui

from flows.dashboard.elements import el
from flows.dashboard.layout import frame
from flows.dashboard.sources import Sources


def register(sources: Sources) -> None:
    """``/runs/ID``."""

    @ui.page("/runs/{run_id}")
    async def run_page(run_id: str) -> None:
        folder = await asyncio.to_thread(sources.store.open, run_id)
        record = await asyncio.to_thread(folder.read)
        with frame(f"Run {run_id}", "/runs"):
            el("h1", f"Run {run_id}")
            el("pre", folder.prompt.decode("utf-8", "replace"))
            el("pre", record.answer or "")
