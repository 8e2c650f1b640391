"""Loading an input into an edition: what has been answered stays, what is new or has changed is to do."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Literal

from sqlalchemy import Connection, Row, case, delete, func, null, select, update

from atomic.errors import UsageError
from flows.database import items, terms
from flows.database.engine import Database
from flows.database.facts import Edition, ItemRow, ItemState, Loaded
from flows.database.statements import INSERT, MOVE, RENEW
from flows.database.tables import editions as e
from flows.database.tables import items as t
from flows.database.tables import storable

_CHUNK = 2000  # items in a transaction: others get their turn between two, and memory stays flat
Change = Literal["kept", "changed", "again"]


def change_of(state: ItemState, *, same: bool, retry_failed: bool, redo: bool) -> Change:
    """What becomes of an item that is there already. ``same``: its digest is."""
    if not same:
        return "changed"
    ended = state in ("answered", "failed")
    if (redo and ended) or (retry_failed and state == "failed"):
        return "again"
    return "kept"


def load(
    database: Database,
    edition: Edition,
    rows: Iterable[ItemRow],
    *,
    retry_failed: bool = False,
    redo: bool = False,
    fingerprint: str = "",
    now: float | None = None,
) -> Loaded:
    """Bring the items of an edition in line with its input, given in the input's order, before any is claimed.

    Items keep what they have come to while their digest stays the same, but for failed ones with ``retry_failed`` and
    all ended ones with ``redo``. Those that the input no longer names are dropped, unless they have ended: their
    results stay. Killed half-way, it is done again from the start and comes to the same (a ``redo`` is to be asked for
    again). ``fingerprint`` is that of all that the rows are made of: where they came from the same before, nothing is
    read again. Raises UsageError for an id that comes twice, EditionLost, DatabaseError.
    """
    now = time.time() if now is None else now
    seen: set[int] = set()  # hashes: a hundred thousand ids of any length take a few MB
    found: Counter[str] = Counter()
    position = 0
    with database.writing() as connection:
        terms.hold(connection, edition)
        there_before = items.count(connection, edition.id).total
        before = connection.execute(select(e.c.fingerprint).where(e.c.id == edition.id)).scalar_one()
        if fingerprint and fingerprint == before and not (retry_failed or redo):
            return Loaded(kept=there_before)
        connection.execute(update(e).where(e.c.id == edition.id).values(fingerprint=""))
    for chunk in _chunks(rows):
        _check_once(chunk, seen)
        with database.writing() as connection:
            terms.hold(connection, edition)
            there = _there(database, connection, edition, chunk, whole=redo) if there_before else {}
            _insert(connection, edition, chunk, position, there, now)
            for change in _update(connection, chunk, position, there, retry_failed, redo, now):
                found[change] += 1
            found["new"] += len(chunk) - len(there)
        position += len(chunk)
    return Loaded(**found, gone=_drop(database, edition, seen, fingerprint))


def _chunks(rows: Iterable[ItemRow]) -> Iterator[list[ItemRow]]:
    source = iter(rows)
    while chunk := list(islice(source, _CHUNK)):
        yield chunk


def _check_once(chunk: Sequence[ItemRow], seen: set[int]) -> None:
    for row in chunk:
        if storable(row.custom_id) != row.custom_id:
            raise UsageError(
                f"the item {row.custom_id!r} has an id that no database can store",
                hint="take NUL and halves of surrogate pairs out of it",
            )
        mark = hash(row.custom_id)
        if mark in seen:
            raise UsageError(
                f"the input names the item {row.custom_id!r} twice", hint="give each item an id of its own"
            )
        seen.add(mark)


def _there(
    database: Database, connection: Connection, edition: Edition, chunk: Sequence[ItemRow], *, whole: bool
) -> dict[str, Row[*tuple[Any, ...]]]:
    """The items of a chunk that are in the edition. Sources, which may be long, come only of those that may need
    them: of answered ones when ``whole``."""
    source = t.c.source if whole else case((t.c.state == "answered", null()), else_=t.c.source).label("source")
    query = select(t.c.id, t.c.custom_id, t.c.digest, t.c.state, t.c.position, t.c.round, source)
    names = database.among(t.c.custom_id, [row.custom_id for row in chunk])
    wanted = query.where(t.c.edition_id == edition.id, names)
    return {row.custom_id: row for row in connection.execute(wanted)}


def _insert(
    connection: Connection,
    edition: Edition,
    chunk: Sequence[ItemRow],
    position: int,
    there: dict[str, Row[*tuple[Any, ...]]],
    now: float,
) -> None:
    rows = [
        {"of": edition.id, "at": at, "name": row.custom_id, "sum": row.digest, "what": row.source, "now": now}
        for at, row in enumerate(chunk, position)
        if row.custom_id not in there
    ]
    if rows:
        connection.execute(INSERT, rows)


def _update(
    connection: Connection,
    chunk: Sequence[ItemRow],
    position: int,
    there: dict[str, Row[*tuple[Any, ...]]],
    retry_failed: bool,
    redo: bool,
    now: float,
) -> Iterator[Change]:
    """Update the items of a chunk that are in the edition; of each what became of it."""
    moved, fresh = [], []
    for at, row in enumerate(chunk, position):
        old = there.get(row.custom_id)
        if old is None:
            continue
        change = change_of(old.state, same=old.digest == row.digest, retry_failed=retry_failed, redo=redo)
        yield change
        new = {"item": old.id, "at": at, "what": row.source}
        if change != "kept":
            fresh.append({**new, "now": now, "sum": row.digest, "nth": old.round + (redo and change == "again")})
        elif old.position != at or old.source not in (None, row.source):
            moved.append(new)
    if moved:
        connection.execute(MOVE, moved)
    if fresh:
        connection.execute(RENEW, fresh)


def _drop(database: Database, edition: Edition, seen: set[int], fingerprint: str) -> int:
    """Drop what the input did not name and what has not ended. Returns how many it did not name; where all are named,
    the edition has the fingerprint of its input."""
    here = t.c.edition_id == edition.id
    with database.writing() as connection:
        terms.hold(connection, edition)
        if connection.execute(select(func.count()).where(here)).scalar_one() == len(seen):
            connection.execute(update(e).where(e.c.id == edition.id).values(fingerprint=fingerprint))
            return 0
        all_names = select(t.c.id, t.c.custom_id).where(here).execution_options(yield_per=_CHUNK)
        gone = [row.id for row in connection.execute(all_names) if hash(row.custom_id) not in seen]
        for at in range(0, len(gone), _CHUNK):
            unended = t.c.id.in_(gone[at : at + _CHUNK]), t.c.state.not_in(("answered", "failed"))
            connection.execute(delete(t).where(*unended))
    return len(gone)
