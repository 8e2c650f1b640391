"""The pages, each with a URL of its own."""

from __future__ import annotations

from fastapi import FastAPI

from flows.dashboard.pages import batches, compare, errors, overview, run, runs
from flows.dashboard.sources import Sources


def register(app: FastAPI, sources: Sources) -> None:
    """Make all pages known: to NiceGUI, and what is no page to ``app``."""
    errors.register()
    overview.register(sources)
    runs.register(sources)
    batches.register(sources)
    compare.register(sources)
    run.register(app, sources)
