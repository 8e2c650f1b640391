"""Terms: whoever begins an edition raises its term, and what is written with an older one is refused. So a process that
stood still, was taken for dead and comes back spoils nothing."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, bindparam, select

from atomic.errors import EditionLost
from flows.database.facts import Edition
from flows.database.tables import editions as e
from flows.database.tables import shards as s


def ours(edition: Edition) -> tuple[ColumnElement[bool], ...]:
    """Conditions on the edition's row that hold while it is this process's."""
    return e.c.id == edition.id, e.c.term == edition.term, e.c.status == "running"


_HOLD = (
    select(e.c.id)
    .where(e.c.id == bindparam("of"), e.c.term == bindparam("this_term"), e.c.status == "running")
    .with_for_update(read=True)
)


_HOLD_SHARD = (
    select(e.c.id)
    .join(s, (s.c.edition_id == e.c.id) & (s.c.term == e.c.term))
    .where(e.c.id == bindparam("of"), e.c.term == bindparam("this_term"), e.c.status == "running")
    .where(s.c.number == bindparam("this_shard"), s.c.ended_at.is_(None))
    .with_for_update(read=True)
)


def hold(connection: Connection, edition: Edition) -> None:
    """Within the connection's transaction nobody else begins the edition, or closes the shard of it that is this
    process's. Raises EditionLost where somebody has."""
    given: dict[str, int] = {"of": edition.id, "this_term": edition.term}
    query = _HOLD
    if edition.shard is not None:
        query, given["this_shard"] = _HOLD_SHARD, edition.shard
    if connection.execute(query, given).first() is None:
        raise lost(edition)


def of_shard(edition: Edition) -> tuple[ColumnElement[bool], ...]:
    """Conditions on the row of the shard that is this process's, while it is open."""
    return s.c.edition_id == edition.id, s.c.term == edition.term, s.c.number == edition.shard, s.c.ended_at.is_(None)


def lost(edition: Edition) -> EditionLost:
    """The error of an owner that is none any more."""
    return EditionLost(
        f"edition {edition.name} of {edition.batch} was taken over by another process, or ended by it",
        hint="this process was silent for too long; the other one goes on with the batch",
        batch=edition.batch,
        edition=edition.name,
    )
