"""The database under batches and history: open one, then call the functions of its modules with it.

    database = Database.open(url, home=home)
    edition = editions.begin(database, "nightly", input=…, output=…)
    loading.load(database, edition, rows)
    for item in items.claim(database, edition, 8): …
    editions.finish(database, edition)

From async code: ``await database.apart(items.claim, edition, 8)``.
"""

from __future__ import annotations

from flows.database import control, cooldowns, editions, items, loading, runs, shards
from flows.database.engine import Database
from flows.database.facts import (
    ClaimedItem,
    Control,
    Cooldown,
    Counts,
    Edition,
    EditionState,
    EditionStatus,
    Ended,
    ItemResult,
    ItemRow,
    ItemState,
    Loaded,
    ShardState,
    Spent,
    Waiting,
)
from flows.database.ownership import HEARTBEAT_EVERY, HEARTBEAT_LIMIT

__all__ = [
    "HEARTBEAT_EVERY",
    "HEARTBEAT_LIMIT",
    "ClaimedItem",
    "Control",
    "Cooldown",
    "Counts",
    "Database",
    "Edition",
    "EditionState",
    "EditionStatus",
    "Ended",
    "ItemResult",
    "ItemRow",
    "ItemState",
    "Loaded",
    "ShardState",
    "Spent",
    "Waiting",
    "control",
    "cooldowns",
    "editions",
    "items",
    "loading",
    "runs",
    "shards",
]
