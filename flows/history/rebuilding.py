"""The history made anew from the records alone: after its database was deleted, damaged, or only to be sure.

An SQLite file is made beside the old one and takes its place when it is whole; on a server all happens in one
transaction. What only the database knows is kept where it can still be read: batches with items that never ran, and
cooldowns. Where it cannot, batches come back as far as their runs tell.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path

from sqlalchemy import Connection, delete, insert, select

from atomic.errors import DatabaseError, UsageError
from atomic.record import RunStore
from atomic.record.files import LockTaken, locked, make_folder
from atomic.text import Masker
from flows.database import Database, control, runs
from flows.database.tables import attempts, batches, caught_up, cooldowns, days, editions, items, labels, run_labels
from flows.database.tables import runs as r
from flows.database.urls import read_url, sqlite_file
from flows.history.catching_up import AT_ONCE, OnDamaged, read
from flows.history.remaking import Remaking

KEPT = (batches, editions, items, cooldowns)  # what records do not know all of; parents first
MADE = (caught_up, days, run_labels, labels, attempts, r)  # what they do; children first
_ROWS = 1000  # copied at a time

OnProgress = Callable[[int], None]


def rebuild(
    url: str | None,
    home: Path,
    store: RunStore,
    masker: Masker,
    *,
    on_damaged: OnDamaged = lambda _: None,
    on_progress: OnProgress = lambda _: None,
) -> int:
    """Make the history anew. Returns how many runs it has. ``on_progress`` is told of the runs that are written. Raises
    UsageError while a batch is carried out, DatabaseError, PlaceError; then the old history is as it was."""
    file = sqlite_file(read_url(url, home))
    if file is None:
        return _in_place(url, home, store, masker, on_damaged, on_progress)
    make_folder(file.parent)
    try:
        with locked(file.with_name(f"{file.name}.rebuild.lock"), wait=False):
            return _beside(file, home, store, masker, on_damaged, on_progress)
    except LockTaken:
        raise UsageError("another process rebuilds the history", hint="wait for it") from None


def _beside(
    file: Path, home: Path, store: RunStore, masker: Masker, on_damaged: OnDamaged, on_progress: OnProgress
) -> int:
    new = file.with_name(f"{file.name}.rebuilt")
    _unlink(new)
    made = Database.open(f"sqlite:///{new}", home=home)
    try:
        _keep(file, home, made)
        with made.writing() as connection:
            n = _fill(made, connection, store, masker, on_damaged, on_progress)
        made.close()  # the last one to close it writes all of it into the one file
        for old in (file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}-shm")):
            old.unlink(missing_ok=True)
        new.replace(file)
    except BaseException:
        made.close()
        _unlink(new)
        raise
    return n


def _in_place(
    url: str | None, home: Path, store: RunStore, masker: Masker, on_damaged: OnDamaged, on_progress: OnProgress
) -> int:
    database = Database.open(url, home=home)
    try:
        _refuse_at_work(database)
        with database.writing() as connection:
            for table in MADE:
                connection.execute(delete(table))
            return _fill(database, connection, store, masker, on_damaged, on_progress)
    finally:
        database.close()


def _fill(
    database: Database,
    connection: Connection,
    store: RunStore,
    masker: Masker,
    on_damaged: OnDamaged,
    on_progress: OnProgress,
) -> int:
    remaking = Remaking(database)
    n, left = 0, store.ids()
    while ids := list(islice(left, AT_ONCE)):
        entries = sorted(read(store, ids, masker, on_damaged), key=lambda one: one.run.run_id)
        if entries:
            runs.put(database, connection, entries)
            remaking.take(connection, entries)
        n += len(entries)
        on_progress(n)
    remaking.finish(connection)
    return n


def _keep(file: Path, home: Path, made: Database) -> None:
    """Copy what only the old database knows, if it can be read. Raises UsageError where a batch is at work."""
    if not file.exists():
        return
    try:
        old = Database.open(f"sqlite:///{file}", home=home)
    except DatabaseError:
        return  # it is damaged: what can be known is in the records
    try:
        _refuse_at_work(old)
        with old.reading() as source, made.writing() as target:
            for table in KEPT:
                found = source.execute(select(table))
                while rows := found.mappings().fetchmany(_ROWS):
                    target.execute(insert(table), [dict(row) for row in rows])
    except DatabaseError:
        _empty(made)
    finally:
        old.close()


def _empty(made: Database) -> None:
    with made.writing() as connection:
        for table in reversed(KEPT):
            connection.execute(delete(table))


def _refuse_at_work(database: Database) -> None:
    for batch in control.batch_names(database):
        if (state := control.running(database, batch)) is not None:
            raise UsageError(
                f"batch {batch} is being carried out: its edition {state.name} would be lost",
                hint=f"wait for it, or end it with `atomic-flows stop {batch}`",
                batch=batch,
            )


def _unlink(file: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        file.with_name(file.name + suffix).unlink(missing_ok=True)
