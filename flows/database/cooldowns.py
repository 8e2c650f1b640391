"""Cooldowns that all processes share: what one finds out, the others need not find out again."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable

from sqlalchemy import delete, select

from atomic.failures import FailureKind
from atomic.record.owner import this_process
from flows.database.engine import Database
from flows.database.facts import Cooldown
from flows.database.tables import cooldowns as c


def get_many(database: Database, keys: Collection[str]) -> dict[str, float]:
    """The times (seconds since the epoch) until which these keys cool down, where they are known; they may be past.
    Raises DatabaseError."""
    with database.reading() as connection:
        return {row.key: row.until for row in connection.execute(select(c.c.key, c.c.until).where(c.c.key.in_(keys)))}


def current(database: Database, *, now: float | None = None) -> list[Cooldown]:
    """All cooldowns that are on, the first to end first. Raises DatabaseError."""
    now = time.time() if now is None else now
    with database.reading() as connection:
        rows = connection.execute(select(c).where(c.c.until > now).order_by(c.c.until, c.c.key)).all()
    return [Cooldown(row.key, row.until, FailureKind(row.kind) if row.kind else None, row.reason) for row in rows]


def put(database: Database, found: Iterable[Cooldown], *, now: float | None = None) -> None:
    """Note cooldowns. Of two of one key the later end counts, whoever writes first. Raises DatabaseError."""
    me = this_process()
    insert = database.insert(c)
    new = insert.excluded
    kept = {name: new[name] for name in ("until", "kind", "reason", "noted_at", "host", "user")}
    query = insert.on_conflict_do_update(index_elements=[c.c.key], set_=kept, where=new.until > c.c.until)
    noted = {"noted_at": time.time() if now is None else now, "host": me.host, "user": me.user}
    rows = [
        {"key": one.key, "until": one.until, "kind": one.kind, "reason": one.reason, **noted}
        for one in sorted(found, key=lambda one: one.key)  # one order for all: no two wait for each other
    ]
    if rows:
        with database.writing() as connection:
            connection.execute(query, rows)


def clear(database: Database, keys: Collection[str]) -> None:
    """End cooldowns before their time: it was found that they are over. Raises DatabaseError."""
    with database.writing() as connection:
        connection.execute(delete(c).where(c.c.key.in_(keys)))
