"""Reading the history: all of one answer at one moment."""

from __future__ import annotations

import calendar
import contextlib
import time
from collections.abc import Iterator

from sqlalchemy import Connection, text

from flows.database import Database


@contextlib.contextmanager
def snapshot(database: Database) -> Iterator[Connection]:
    """A transaction whose statements all see the same rows. Raises DatabaseError."""
    with database.reading() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"))
        yield connection


def time_of(run_id: str) -> float | None:
    """When a run of this id began, to the second; None for what is no id."""
    with contextlib.suppress(ValueError):
        return float(calendar.timegm(time.strptime(run_id[:15], "%Y%m%d-%H%M%S")))
    return None
