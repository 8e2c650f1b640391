"""Removing runs that are old: their records, their keys and their rows, all or nothing.

Which runs are to go is written down first. A kill on the way leaves that note, and whoever opens the history next
removes the rest; not while somebody is at it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from atomic.errors import RecordDamaged
from atomic.record import RunStore
from atomic.record.files import LockTaken, encode, locked, make_folder, read_object, temporary, write_file
from atomic.record.layout import is_run_id, run_path
from flows.database import Database, control
from flows.database.runs import remove
from flows.history.facts import RunFilter, RunRow
from flows.history.pages import runs_page

NOTES = "pruning"  # in the home
LOCK = "lock"  # held by whoever removes
PAGE = 500  # runs that are read at a time
AT_ONCE = 100  # runs that one note names: what is removed before their rows are


@dataclass(frozen=True, slots=True)
class Doomed:
    """Runs that are to go."""

    ids: tuple[str, ...] = ()
    bytes: int = 0  # of their records on this machine
    oldest: float | None = None
    newest: float | None = None
    running: int = 0  # of those that are meant, or of a batch that does, whose budget they count for: they stay
    elsewhere: int = 0  # whose records are in another store: they stay


def doomed(database: Database, store: RunStore, asked: RunFilter) -> Doomed:
    """Which runs a prune would remove: those that are meant and have ended. Raises DatabaseError."""
    states = [control.running(database, batch) for batch in control.batch_names(database)]
    at_work = {(state.batch, state.name) for state in states if state is not None}
    ids: list[str] = []
    size = running = elsewhere = 0
    times: list[float] = []
    for row in every_run(database, asked):
        if row.status == "running" or (row.batch, row.edition) in at_work:
            running += 1
        elif not is_run_id(row.run_id) or row.record not in places(store, row.run_id):
            elsewhere += 1
        else:
            ids.append(row.run_id)
            times.append(row.created_at)
            size += _size(store.spool / run_path(row.run_id))
    return Doomed(tuple(ids), size, min(times, default=None), max(times, default=None), running, elsewhere)


def prune(database: Database, store: RunStore, ids: Sequence[str]) -> Iterator[int]:
    """Remove runs, record and row; yields how many are gone as it goes. Raises DatabaseError, RecordError, PlaceError;
    what was begun is then finished by the next catch-up."""
    make_folder(store.home / NOTES)
    for first in range(0, len(ids), AT_ONCE):
        some = ids[first : first + AT_ONCE]
        note = temporary(store.home / NOTES / "runs.json").with_suffix(".json")
        with locked(store.home / NOTES / LOCK):
            write_file(note, encode({"root": store.root, "runs": list(some)}), durable=True)
            _remove(database, store, note, some)
        yield first + len(some)


def finish_prunes(database: Database, store: RunStore) -> int:
    """Remove what a prune that was killed has left. Returns how many runs. Raises as :func:`prune`."""
    notes = store.home / NOTES
    if not any(notes.glob("*.json")):
        return 0
    try:
        with locked(notes / LOCK, wait=False):
            return _finish(database, store, notes)
    except LockTaken:
        return 0  # it is on its way


def _finish(database: Database, store: RunStore, notes: Path) -> int:
    n = 0
    for note in sorted(notes.glob("*.json")):
        try:
            said = read_object(note)
        except (FileNotFoundError, RecordDamaged):
            continue  # nothing was begun
        runs = said.get("runs")
        if said.get("root") == store.root and isinstance(runs, list):
            ids = [run_id for run_id in map(str, runs) if is_run_id(run_id)]
            _remove(database, store, note, ids)
            n += len(ids)
    return n


def _remove(database: Database, store: RunStore, note: Path, ids: Sequence[str]) -> None:
    for run_id in ids:
        store.remove(run_id)
    with database.writing() as connection:
        remove(database, connection, ids)
    note.unlink(missing_ok=True)


def every_run(database: Database, asked: RunFilter) -> Iterator[RunRow]:
    """All runs that are meant, the newest first, a page at a time. Raises DatabaseError."""
    page = runs_page(database, asked, limit=PAGE)
    while True:
        yield from page.rows
        if page.next is None:
            return
        page = runs_page(database, asked, after=page.next, limit=PAGE)


def places(store: RunStore, run_id: str) -> set[str]:
    """Where the store keeps the record of a run, be it live, finished, or moved."""
    path = run_path(run_id)
    return {str(store.spool / path), f"{store.root.rstrip('/')}/{path}"}


def _size(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(parent, name)).st_size  # noqa: PTH118 - thousands of them
            except OSError:
                continue  # removed meanwhile
    return total
