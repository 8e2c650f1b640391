"""What is asked of items thousands of times, made once: making a statement costs more than carrying it out.

Parameters: ``of`` edition, ``this_term`` of it, ``now`` in seconds since the epoch, ``most`` rows, ``ids`` of items.
"""

from __future__ import annotations

from sqlalchemy import Select, bindparam, select, update

from flows.database.tables import items as t

_HERE = t.c.edition_id == bindparam("of")
_IN_IDS = t.c.id.in_(bindparam("ids", expanding=True))


def _claimable(query: Select[int]) -> Select[int]:
    """The first of them that no other transaction is about to take."""
    return query.limit(bindparam("most")).with_for_update(skip_locked=True)


_PARKED = select(t.c.id).where(_HERE, t.c.state == "parked")
PARKED = _claimable(_PARKED.order_by(t.c.position))
DUE = _claimable(_PARKED.where(t.c.parked_until <= bindparam("now")).order_by(t.c.parked_until, t.c.position))
FREE = _claimable(
    select(t.c.id)
    .where(_HERE, t.c.state == "pending", t.c.held.is_(False) | (t.c.term != bindparam("this_term")))
    .order_by(t.c.position)
)
TAKE = (
    update(t)
    .where(_IN_IDS)
    .values(
        state="running",
        term=bindparam("this_term"),
        held=False,
        parked_until=None,
        shard=bindparam("for_shard"),
        claims=t.c.claims + 1,
        changed_at=bindparam("now"),
    )
    .returning(t.c.id, t.c.custom_id, t.c.digest, t.c.position, t.c.round, t.c.claims, t.c.source)
)
HELD = (
    select(t.c.id)
    .where(_IN_IDS, _HERE, t.c.state == "running", t.c.term == bindparam("this_term"))
    .order_by(t.c.id)  # one order for all: no two wait for each other
    .with_for_update()
)
CHANGE = (
    update(t)
    .where(t.c.id == bindparam("item"))
    .values(
        state=bindparam("to"),
        held=bindparam("hold"),
        kind=bindparam("why"),
        run_id=bindparam("run"),
        result=bindparam("line"),
        parked_until=bindparam("due"),
        changed_at=bindparam("now"),
    )
)
