"""Batches: all of them, and one with its editions. Both go on by themselves while they are looked at.

/batches?pass=30      those begun last, less the first 30
/batch?name=NAME      one: how it stands, why items failed, what to type to go on
"""

from __future__ import annotations

from flows.dashboard.pages.batches import listing, one
from flows.dashboard.sources import Sources


def register(sources: Sources) -> None:
    """Both pages."""
    listing.register(sources)
    one.register(sources)
