"""Items of an edition: claimed by one, then ended, parked or released. Loading them: :mod:`flows.database.loading`.

pending ──claim──▸ running ──end──▸ answered | failed
   ▴                  │ │
   ├────release───────┘ └──park──▸ parked ──claim, when its time has come──▸ running
   └── end, as cancelled, interrupted or out of budget: not to be claimed again before the edition is begun again
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, func, select, tuple_, update

from atomic.failures import FailureKind
from atomic.verdict.facts import Status
from flows.database import runs, statements, terms
from flows.database.engine import Database
from flows.database.facts import ClaimedItem, Counts, Edition, Ended, ItemResult, ItemState
from flows.database.runs import Recorded
from flows.database.tables import items as t
from flows.database.tables import shards as s

# What says nothing of the item itself: it is to do again when the batch goes on.
UNDECIDED = frozenset({FailureKind.CANCELLED, FailureKind.BUDGET, FailureKind.INTERRUPTED})
MOST_CLAIMED = 1000  # items at a time; no batch has more at work, and SQLite has a limit of variables
_SHOWN = (t.c.custom_id, t.c.position, t.c.kind, t.c.run_id, t.c.result)  # of an item that has ended
_PAGE = 1000  # results at a time: what is held in memory


def state_after(status: Status, kind: FailureKind | None) -> ItemState:
    """The state of an item whose run came to this."""
    if status is Status.ANSWERED:
        return "answered"
    return "pending" if kind in UNDECIDED else "failed"


def run_key(batch: str, edition: str, custom_id: str, digest: str, round_: int) -> str:
    """The key of idempotence of an item's runs."""
    return f"batch/{batch}/{edition}/{custom_id}/{digest}/{round_}"


def of_run_key(key: str, batch: str, edition: str, custom_id: str) -> tuple[str, int] | None:
    """The digest and the round in a key of :func:`run_key`; None for any other key."""
    begin = f"batch/{batch}/{edition}/{custom_id}/"
    digest, slash, round_ = key.removeprefix(begin).rpartition("/")
    if not (key.startswith(begin) and slash and round_.isdecimal()):
        return None
    return digest, int(round_)


def claim(
    database: Database, edition: Edition, n: int, *, shard: int | None = None, now: float | None = None
) -> list[ClaimedItem]:
    """Up to ``n`` items (at most MOST_CLAIMED) for the caller alone: parked ones whose time has come, then pending ones
    in the input's order. Where a shard is the caller's, items that others have parked stay theirs. Empty when there is
    nothing to do now. Raises EditionLost, DatabaseError."""
    due = statements.DUE if edition.shard is None else statements.DUE_HERE
    return _take(database, edition, n, (due, statements.FREE), shard, now)


def claim_parked(
    database: Database, edition: Edition, n: int, *, shard: int | None = None, now: float | None = None
) -> list[ClaimedItem]:
    """Up to ``n`` parked items, whether or not their time has come: those that a batch gives up on. Raises EditionLost,
    DatabaseError."""
    return _take(database, edition, n, (statements.PARKED,), shard, now)


def _take(
    database: Database,
    edition: Edition,
    n: int,
    queries: Iterable[Select[int]],
    shard: int | None,
    now: float | None,
) -> list[ClaimedItem]:
    shard = edition.shard or shard
    at = time.time() if now is None else now
    given = {"of": edition.id, "this_term": edition.term, "for_shard": shard, "now": at}
    left = min(n, MOST_CLAIMED)
    found: list[int] = []
    with database.writing() as connection:
        terms.hold(connection, edition)
        for query in queries:
            if left > len(found):
                found += connection.execute(query, {**given, "most": left - len(found)}).scalars()
        if not found:
            return []
        rows = connection.execute(statements.TAKE, {**given, "ids": found}).all()
        if edition.shard is not None:
            more = {"taken": s.c.taken + len(found)}
            connection.execute(update(s).where(*terms.of_shard(edition)).values(more))
    order = {item_id: at for at, item_id in enumerate(found)}
    return [_claimed(edition, row) for row in sorted(rows, key=lambda row: order[row.id])]


def _claimed(edition: Edition, row: Row[*tuple[Any, ...]]) -> ClaimedItem:
    key = run_key(edition.batch, edition.name, row.custom_id, row.digest, row.round)
    return ClaimedItem(row.id, row.custom_id, row.digest, row.position, key, row.claims, row.source)


def end(
    database: Database,
    edition: Edition,
    ended: Sequence[Ended],
    *,
    recorded: Sequence[Recorded] = (),
    now: float | None = None,
) -> set[int]:
    """What claimed items came to, and the runs that they came to it by, in one transaction. Returns the ids of those
    that were running in this term and now are not: another one's result is not to be written anywhere. Raises
    EditionLost, DatabaseError."""
    changes = []
    for one in ended:
        state = state_after(one.status, one.kind)
        over = state != "pending"
        result = one.result if over else None
        changes.append(_change(one.item_id, state, one.kind, one.run_id, result=result, hold=not over))
    with database.writing() as connection:
        runs.put(database, connection, recorded)
        return _carry_out(connection, edition, changes, now)


def park(
    database: Database,
    edition: Edition,
    item_id: int,
    *,
    until: float,
    kind: FailureKind | None,
    run_id: str | None = None,
    now: float | None = None,
) -> bool:
    """Put a claimed item aside until a time (seconds since the epoch), because of a failure of this kind. False when it
    was not running in this term. Raises EditionLost, DatabaseError."""
    with database.writing() as connection:
        return bool(_carry_out(connection, edition, [_change(item_id, "parked", kind, run_id, until=until)], now))


def release(database: Database, edition: Edition, item_ids: Iterable[int], *, now: float | None = None) -> set[int]:
    """Give claimed items back: pending, and free to be claimed. Returns those that were running in this term. Raises
    EditionLost, DatabaseError."""
    with database.writing() as connection:
        return _carry_out(connection, edition, [_change(item_id, "pending") for item_id in item_ids], now)


def _change(
    item_id: int,
    state: ItemState,
    kind: FailureKind | None = None,
    run_id: str | None = None,
    *,
    result: str | None = None,
    hold: bool = False,
    until: float | None = None,
) -> dict[str, Any]:
    return {
        "item": item_id,
        "to": state,
        "why": kind,
        "run": run_id,
        "line": result,
        "hold": hold,
        "due": until,
    }


def _carry_out(
    connection: Connection, edition: Edition, changes: Sequence[dict[str, Any]], now: float | None
) -> set[int]:
    """Change those items that are running in this term; their ids."""
    given = {"of": edition.id, "this_term": edition.term, "ids": [one["item"] for one in changes]}
    at = time.time() if now is None else now
    terms.hold(connection, edition)
    held = set(connection.execute(statements.HELD, given).scalars())
    ours = [{**one, "now": at} for one in changes if one["item"] in held]
    if ours:
        connection.execute(statements.CHANGE, ours)
    return held


def put_back(connection: Connection, edition_id: int) -> int:
    """Make running items pending. Whoever calls has seen to it that nobody is at work on them."""
    query = update(t).where(t.c.edition_id == edition_id, t.c.state == "running")
    return connection.execute(query.values(state="pending", held=False, changed_at=time.time())).rowcount


def count(connection: Connection, edition_id: int) -> Counts:
    """How many items are in each state, within the connection's transaction."""
    query = select(t.c.state, func.count().label("n")).where(t.c.edition_id == edition_id).group_by(t.c.state)
    found = connection.execute(query).all()
    return Counts(**{row.state: row.n for row in found})


def counts(database: Database, edition_id: int) -> Counts:
    """How many items of an edition are in each state. Raises DatabaseError."""
    with database.reading() as connection:
        return count(connection, edition_id)


def kinds(database: Database, edition_id: int) -> dict[FailureKind, int]:
    """How many failed items there are of each kind, the most frequent first. Raises DatabaseError."""
    n = func.count().label("n")
    query = select(t.c.kind, n).where(t.c.edition_id == edition_id, t.c.state == "failed").group_by(t.c.kind)
    with database.reading() as connection:
        rows = connection.execute(query.order_by(n.desc(), t.c.kind)).all()
    return {FailureKind(row.kind or FailureKind.UNKNOWN): row.n for row in rows}


def next_due(database: Database, edition: Edition) -> float | None:
    """When the first parked item may be claimed (seconds since the epoch), of the caller's shard where one is; None
    when none is parked. Raises DatabaseError."""
    query = select(func.min(t.c.parked_until)).where(t.c.edition_id == edition.id, t.c.parked_until.is_not(None))
    if edition.shard is not None:
        query = query.where(t.c.shard == edition.shard, t.c.term == edition.term)
    with database.reading() as connection:
        due: float | None = connection.execute(query).scalar()
        return due


def results(database: Database, edition_id: int) -> Iterator[ItemResult]:
    """The items that have ended, in the input's order; memory stays flat. Each page is a transaction of its own: it is
    for the owner of the edition, while nothing ends. Raises DatabaseError."""
    pages = (_pages(database, edition_id, status) for status in Status)
    yield from heapq.merge(*pages, key=lambda one: one.position)


def ended_from(
    database: Database, edition_id: int, position: int, known: Container[str]
) -> tuple[int | None, list[ItemResult]]:
    """The items from this position of the input on that have ended, without the ``known`` ids, in the order in which
    they did; and the position from which on some have not, None where all have. Raises DatabaseError."""
    here = t.c.edition_id == edition_id
    query = select(t.c.id, t.c.custom_id).where(here, t.c.state.in_([*Status]), t.c.position >= position)
    found: list[ItemResult] = []
    with database.reading() as connection:
        # In this order: an item that ends between the two is among those that are found.
        first = _first_left(connection, edition_id)
        ended = connection.execute(query.order_by(t.c.changed_at, t.c.id)).all()
        new = [row.id for row in ended if row.custom_id not in known]
        for at in range(0, len(new), _PAGE):
            page = new[at : at + _PAGE]
            rows = connection.execute(select(t.c.state, *_SHOWN, t.c.id).where(t.c.id.in_(page))).all()
            by_id = {row.id: _result(row, Status(row.state)) for row in rows}
            found += [by_id[one] for one in page]
    return first, found


def first_left(database: Database, edition_id: int) -> int | None:
    """The first position in the input of an item that has not ended; None where all have. Raises DatabaseError."""
    with database.reading() as connection:
        return _first_left(connection, edition_id)


def _first_left(connection: Connection, edition_id: int) -> int | None:
    left = t.c.edition_id == edition_id, t.c.state.in_(("pending", "running", "parked"))
    first: int | None = connection.execute(select(func.min(t.c.position)).where(*left)).scalar()
    return first


def _result(row: Row[*tuple[Any, ...]], status: Status) -> ItemResult:
    kind = None if row.kind is None else FailureKind(row.kind)
    return ItemResult(row.custom_id, row.position, status, kind, row.run_id, row.result)


def _pages(database: Database, edition_id: int, status: Status) -> Iterator[ItemResult]:
    wanted = select(t.c.id, *_SHOWN)
    query = wanted.where(t.c.edition_id == edition_id, t.c.state == status).order_by(t.c.position, t.c.id).limit(_PAGE)
    after = (-1, 0)
    while True:
        with database.reading() as connection:
            rows = connection.execute(query.where(tuple_(t.c.position, t.c.id) > after)).all()
        for row in rows:
            yield _result(row, status)
        if len(rows) < _PAGE:
            return
        after = (rows[-1].position, rows[-1].id)
