"""Batches and how their editions stand."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, func, select

from flows.database import Database, EditionState, control
from flows.database.ownership import epoch_now
from flows.database.runs import spent
from flows.database.tables import batches as b
from flows.database.tables import editions as e
from flows.database.tables import items as i
from flows.history.facts import BatchPage, BatchRow, EditionRow
from flows.history.snapshots import snapshot

RATE_OVER = 600.0  # seconds: shorter and a slow item looks like a halt
ENDED = ("answered", "failed")


def batches_page(database: Database, *, after: int = 0, limit: int) -> BatchPage:
    """Batches, the one begun last first, from the ``after``-th on. Raises DatabaseError."""
    newest = func.max(e.c.begun_at)  # not by rows: a rebuilt history has them in another order
    query = (
        select(b.c.name, func.count(e.c.id)).join(e, e.c.batch_id == b.c.id, isouter=True).group_by(b.c.id, b.c.name)
    )
    with snapshot(database) as connection:
        ordered = query.order_by(newest.desc().nulls_last(), b.c.name).offset(after).limit(limit + 1)
        found = connection.execute(ordered).all()
    rows = []
    for name, editions in found[:limit]:
        rows.append(BatchRow(name, editions, editions_of(database, name, limit=1)[0] if editions else None))
    return BatchPage(tuple(rows), after + limit if len(found) > limit else None)


def editions_of(database: Database, batch: str, *, limit: int = control.NEWEST) -> tuple[EditionRow, ...]:
    """The editions of a batch, the newest first, and how they stand. Raises BatchNotFound, DatabaseError."""
    states = control.editions_of(database, batch, limit=limit)
    with snapshot(database) as connection:
        kinds = _kinds(connection, [one.id for one in states])
        rates = {one.id: _rate(connection, one) for one in states if one.alive}
    return tuple(_row(database, one, kinds.get(one.id, {}), rates.get(one.id)) for one in states)


def _row(database: Database, state: EditionState, kinds: dict[str, int], rate: float | None) -> EditionRow:
    used = spent(database, state.batch, state.name)
    return EditionRow(
        id=state.id,
        batch=state.batch,
        name=state.name,
        status=state.status,
        alive=state.alive,
        reason=state.reason,
        control=state.control,
        input=state.input,
        output=state.output,
        created_at=state.created_at,
        begun_at=state.begun_at,
        ended_at=state.ended_at,
        counts=state.counts,
        kinds=kinds,
        rate=rate,
        cost_usd=None if used.unpriced and not used.cost_usd else used.cost_usd,
        unpriced=used.unpriced,
        tokens=used.tokens,
    )


def _kinds(connection: Connection, editions: Sequence[int]) -> dict[int, dict[str, int]]:
    n = func.count()
    query = select(i.c.edition_id, i.c.kind, n).where(i.c.edition_id.in_(editions), i.c.state == "failed")
    found: dict[int, dict[str, int]] = {}
    for edition, kind, count in connection.execute(
        query.group_by(i.c.edition_id, i.c.kind).order_by(n.desc(), i.c.kind)
    ):
        found.setdefault(edition, {})[kind or "unknown"] = count
    return found


def _rate(connection: Connection, state: EditionState) -> float | None:
    """Items that ended a minute, over the last minutes of this term; by the database's clock, as heartbeats are."""
    now: float = connection.execute(select(epoch_now())).scalar_one()
    since = max(state.begun_at, now - RATE_OVER)
    query = select(func.count()).where(i.c.edition_id == state.id, i.c.state.in_(ENDED), i.c.changed_at >= since)
    n: int = connection.execute(query).scalar_one()
    return n / (now - since) * 60 if now > since else None
