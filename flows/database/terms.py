"""Terms: whoever begins an edition raises its term, and what is written with an older one is refused. So a process that
stood still, was taken for dead and comes back spoils nothing."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, bindparam, select

from atomic.errors import EditionLost
from flows.database.facts import Edition
from flows.database.tables import editions as e


def ours(edition: Edition) -> tuple[ColumnElement[bool], ...]:
    """Conditions on the edition's row that hold while it is this process's."""
    return e.c.id == edition.id, e.c.term == edition.term, e.c.status == "running"


_HOLD = (
    select(e.c.id)
    .where(e.c.id == bindparam("of"), e.c.term == bindparam("this_term"), e.c.status == "running")
    .with_for_update(read=True)
)


def hold(connection: Connection, edition: Edition) -> None:
    """Within the connection's transaction nobody else begins the edition. Raises EditionLost where somebody has."""
    if connection.execute(_HOLD, {"of": edition.id, "this_term": edition.term}).first() is None:
        raise lost(edition)


def lost(edition: Edition) -> EditionLost:
    """The error of an owner that is none any more."""
    return EditionLost(
        f"edition {edition.name} of {edition.batch} was taken over by another process, or ended by it",
        hint="this process was silent for too long; the other one goes on with the batch",
        batch=edition.batch,
        edition=edition.name,
    )
