"""What is asked of items thousands of times, made once: making a statement costs more than carrying it out, and each
parameter of a row that is the same in all of them costs as much as one that is not.

Parameters: ``of`` edition, ``this_term`` of it, ``now`` in seconds since the epoch, ``most`` rows, ``ids`` of items.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, false, insert, literal_column, null, select, update

from flows.database.tables import items as t

_HERE = t.c.edition_id == bindparam("of")
_IN_IDS = t.c.id.in_(bindparam("ids", expanding=True))

FRESH: dict[str, Any] = {  # of an item that is to do
    "state": literal_column("'pending'"),
    "held": false(),
    "shard": null(),
    "parked_until": null(),
    "run_id": null(),
    "kind": null(),
    "result": null(),
    "changed_at": bindparam("now"),
}
_NEVER: ColumnElement[int] = literal_column("0")
INSERT = insert(t).values(
    edition_id=bindparam("of"),
    position=bindparam("at"),
    custom_id=bindparam("name"),
    digest=bindparam("sum"),
    source=bindparam("what"),
    round=_NEVER,
    term=_NEVER,
    claims=_NEVER,
    **FRESH,
)
_AS_GIVEN: dict[str, Any] = {"position": bindparam("at"), "source": bindparam("what")}
MOVE = update(t).where(t.c.id == bindparam("item")).values(_AS_GIVEN)
RENEW = MOVE.values({**FRESH, "digest": bindparam("sum"), "round": bindparam("nth")})


def _claimable(query: Select[int]) -> Select[int]:
    """The first of them that no other transaction is about to take."""
    return query.limit(bindparam("most")).with_for_update(skip_locked=True)


_PARKED = select(t.c.id).where(_HERE, t.c.state == "parked")
PARKED = _claimable(_PARKED.order_by(t.c.position))
DUE = _claimable(_PARKED.where(t.c.parked_until <= bindparam("now")).order_by(t.c.parked_until, t.c.position))
_OWN = t.c.shard.is_(None) | (t.c.shard == bindparam("for_shard")) | (t.c.term != bindparam("this_term"))
# A run that waits in a shard's process is that process's to go on with.
DUE_HERE = _claimable(
    _PARKED.where(t.c.parked_until <= bindparam("now"), _OWN).order_by(t.c.parked_until, t.c.position)
)
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
