"""The pages, each with a URL of its own."""

from __future__ import annotations

from flows.dashboard.pages import run, runs
from flows.dashboard.sources import Sources


def register(sources: Sources) -> None:
    """Make all pages known to NiceGUI."""
    runs.register(sources)
    run.register(sources)
