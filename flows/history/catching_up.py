"""Bringing the history in line with the records, which are the truth: runs that it was not told of, and those whose end
it was not told of. Only what is new is read: ids sort by time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile

from sqlalchemy import select

from atomic.errors import RecordDamaged, RecordError, RunNotFound
from atomic.record import RunStore
from atomic.record.layout import first_id, is_run_id
from atomic.text import Masker
from flows.database import Database
from flows.database.labels import Label
from flows.database.runs import Recorded, record_runs, remove
from flows.database.tables import caught_up, labels, run_labels
from flows.database.tables import runs as r
from flows.history.copying import recorded
from flows.history.pruning import finish_prunes, places
from flows.history.snapshots import time_of

# Seconds before the newest run that was seen: a record of another machine may come later to where all are kept.
OVERLAP = 86_400.0
AT_ONCE = 200  # runs written by one transaction
RUNNING: Label = ("status", "running")

OnDamaged = Callable[[RecordError], None]


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """What catching up came to, in runs."""

    found: int = 0  # that the history did not have
    ended: int = 0  # whose end it did not have
    gone: int = 0  # whose records are gone


def catch_up(
    database: Database, store: RunStore, masker: Masker, *, on_damaged: OnDamaged = lambda _: None
) -> CaughtUp:
    """Bring the history in line with the records of a store. ``masker`` hides secrets in the beginnings of prompts.
    What cannot be read is told to ``on_damaged``. Raises DatabaseError, PlaceError."""
    pruned = finish_prunes(database, store)
    ended, gone = _follow_running(database, store, masker, on_damaged)
    mark = _mark(database, store)
    begun = time_of(mark) if mark else None
    oldest = "" if begun is None else first_id(max(0.0, begun - OVERLAP))
    found, newest = 0, mark
    away: list[RecordError] = []  # what could be read another time

    def tell(error: RecordError) -> None:
        if not isinstance(error, RecordDamaged):
            away.append(error)
        on_damaged(error)

    left = takewhile(lambda run_id: run_id >= oldest, store.ids())
    while ids := list(islice(left, AT_ONCE)):
        newest = max(newest, ids[0])
        missing = _missing(database, ids)
        entries = list(read(store, missing, masker, tell))
        record_runs(database, entries)
        found += len(entries)
    if newest != mark and not away:
        _set_mark(database, store, newest)
    return CaughtUp(found, ended, gone + pruned)


def read(store: RunStore, ids: Iterable[str], masker: Masker, on_damaged: OnDamaged) -> Iterator[Recorded]:
    """What the records of runs say; those that cannot be read are passed over and told."""
    for run_id in ids:
        try:
            yield recorded(store, store.read(run_id), masker)
        except RunNotFound:
            continue  # removed meanwhile
        except RecordError as error:
            on_damaged(error)


def _follow_running(database: Database, store: RunStore, masker: Masker, on_damaged: OnDamaged) -> tuple[int, int]:
    """Those that have ended, and those whose records are gone, of the runs that the history takes for running."""
    what, value = RUNNING
    query = (
        select(r.c.run_id, r.c.record, r.c.attempts)
        .join(run_labels, run_labels.c.run_id == r.c.run_id)
        .join(labels, labels.c.id == run_labels.c.label_id)
        .where(labels.c.what == what, labels.c.value == value)
    )
    with database.reading() as connection:
        rows = connection.execute(query).all()
    entries, gone = [], []
    for row in rows:
        if not is_run_id(row.run_id):
            continue
        try:
            run = store.read(row.run_id)
        except RunNotFound:
            if row.record in places(store, row.run_id):  # those of other stores are not ours to judge
                gone.append(row.run_id)
        except RecordError as error:
            on_damaged(error)
        else:
            if run.ended or len(run.attempts) != row.attempts:
                entries.append(recorded(store, run, masker))
    record_runs(database, entries)
    if gone:
        with database.writing() as connection:
            remove(database, connection, gone)
    return sum(one.run.ended for one in entries), len(gone)


def _missing(database: Database, ids: Sequence[str]) -> list[str]:
    with database.reading() as connection:
        there = set(connection.execute(select(r.c.run_id).where(database.among(r.c.run_id, ids))).scalars())
    return [run_id for run_id in ids if run_id not in there]


def _mark(database: Database, store: RunStore) -> str:
    with database.reading() as connection:
        query = select(caught_up.c.run_id).where(caught_up.c.root == store.root)
        return connection.execute(query).scalar() or ""


def _set_mark(database: Database, store: RunStore, run_id: str) -> None:
    new = database.insert(caught_up).values(root=store.root, run_id=run_id)
    with database.writing() as connection:
        connection.execute(new.on_conflict_do_update(index_elements=["root"], set_={"run_id": new.excluded.run_id}))
