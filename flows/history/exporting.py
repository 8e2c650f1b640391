"""Runs for other programs: lines of JSON, or CSV in which no cell is a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from sqlalchemy import select

from atomic.record.files import encode
from atomic.text import Masker
from flows.database import Database
from flows.database.tables import attempts as a
from flows.history.facts import RunFilter, RunRow
from flows.history.pages import runs_page
from flows.history.pruning import PAGE

# What a spreadsheet takes for a formula, or for the blank before one.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
COLUMNS = (
    *("run_id", "name", "status", "kind", "message", "answered_by", "first_model", "hopped", "attempts"),
    *("input", "output", "cacheRead", "cacheWrite", "cost_usd", "seconds", "created_at", "ended_at"),
    *("key", "batch", "edition", "custom_id", "tags", "prompt", "cwd", "record", "flow_run_id", "host", "user"),
)
_ATTEMPT = ("n", "model", "status", "kind", "message", "answered_by", "carry", "retry_at", "record")


def json_lines(database: Database, asked: RunFilter, masker: Masker) -> Iterator[bytes]:
    """A line for each run that is meant, the newest first, with its attempts; the names are those of `run --json`.
    Memory stays flat. Raises DatabaseError."""
    for rows in _pages(database, asked):
        steps = _attempts(database, rows)
        for row in rows:
            told = _told(row, masker)
            used = {name: told.pop(name) for name in ("input", "output", "cacheRead", "cacheWrite")}
            told["usage"] = {**used, "cost_usd": row.cost_usd}
            told |= {"attempts": steps.get(row.run_id, []), "tags": row.tags, "metadata": row.metadata}
            yield encode({**told, "warnings": row.warnings}) + b"\n"


def csv_lines(database: Database, asked: RunFilter, masker: Masker) -> Iterator[bytes]:
    """The same as CSV (RFC 4180, UTF-8), a row for each run, the heads first. Raises DatabaseError."""
    yield _csv(COLUMNS)
    for rows in _pages(database, asked):
        for row in rows:
            told = _told(row, masker)
            yield _csv([defused(told[name]) for name in COLUMNS])


def defused(value: object) -> object:
    """A cell that no spreadsheet takes for a formula: what begins like one gets an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _told(row: RunRow, masker: Masker) -> dict[str, Any]:
    used = {"input": row.input, "output": row.output, "cacheRead": row.cache_read, "cacheWrite": row.cache_write}
    own = {name: getattr(row, name) for name in COLUMNS if name not in used and name != "tags"}
    hidden = {name: masker.data(own[name]) for name in ("name", "key", "custom_id") if own[name] is not None}
    return own | hidden | used | {"tags": ", ".join(row.tags)}


def _csv(cells: Iterable[object]) -> bytes:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue().encode("utf-8", "replace")


def _pages(database: Database, asked: RunFilter) -> Iterator[Sequence[RunRow]]:
    after = None
    while True:
        page = runs_page(database, asked, after=after, limit=PAGE)
        yield page.rows
        after = page.next
        if after is None:
            return


def _attempts(database: Database, rows: Sequence[RunRow]) -> dict[str, list[dict[str, Any]]]:
    if not rows:
        return {}
    ids = [row.run_id for row in rows]
    columns = [a.c[name] for name in _ATTEMPT]
    query = select(a.c.run_id, *columns).where(database.among(a.c.run_id, ids)).order_by(a.c.run_id, a.c.n)
    with database.reading() as connection:
        found = connection.execute(query).all()
    return {
        run_id: [{name: getattr(one, name) for name in _ATTEMPT} for one in those]
        for run_id, those in groupby(found, lambda one: str(one.run_id))
    }
