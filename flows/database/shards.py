"""Shards that workers of a pool carry out, each in a process of its own, of an edition that another process owns.

opened by the owner ──take──▸ a worker's ──end, by the worker, or reap, by the owner──▸ ended

What a worker writes is refused from the moment its shard has ended, or the edition is another term's. So a worker that
was taken for dead spoils nothing, as with editions.
"""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import Select, delete, func, select, update

from atomic.errors import EditionLost, UsageError
from atomic.record import Owner
from atomic.record.owner import this_process
from flows.database import terms
from flows.database.engine import Database
from flows.database.facts import Control, Counts, Edition, ShardState, Waiting
from flows.database.ownership import OWNER, epoch_now, is_gone, owner_of
from flows.database.tables import batches as b
from flows.database.tables import editions as e
from flows.database.tables import items as t
from flows.database.tables import shards as s

_SILENCE = func.coalesce(epoch_now() - s.c.heartbeat_at, 0.0).label("silence")


def open_one(database: Database, edition: Edition, number: int, *, most: int, form: str) -> None:
    """Open a shard for a worker, which may take ``most`` items. ``form`` says how, as :func:`take` gives it back.
    Raises EditionLost, DatabaseError."""
    with database.writing() as connection:
        terms.hold(connection, edition)
        row = {"edition_id": edition.id, "term": edition.term, "number": number}
        connection.execute(s.insert().values(**row, most=most, taken=0, reason="", form=form))


def take(
    database: Database, batch: str, edition: str, *, term: int, number: int, owner: Owner | None = None
) -> tuple[Edition, int, str]:
    """Take up a shard that was opened: it is this process's (``owner``) from now on. Returns the edition, how many
    items it may take, and its form. Raises UsageError where the database knows no such shard; EditionLost where it has
    ended, or another process has it; DatabaseError."""
    owner = owner or this_process()
    with database.writing() as connection:
        wanted = select(e.c.id, e.c.term, e.c.status).join(b, e.c.batch_id == b.c.id)
        row = connection.execute(wanted.where(b.c.name == batch, e.c.name == edition)).first()
        if row is None:
            raise UsageError(
                f"the history of this worker has no edition {edition} of batch {batch}",
                hint="workers and the batch need the same history: set [history] url, or ATOMIC_FLOWS_HISTORY__URL, on "
                "each machine to the one database",
                batch=batch,
                edition=edition,
            )
        ours = Edition(row.id, batch, edition, term, resumed=True, taken_from=None, counts=Counts(), shard=number)
        terms.hold(connection, ours)
        free = update(s).where(*terms.of_shard(ours), s.c.pid.is_(None))
        mine = owner.model_dump(include=set(OWNER))
        taken = connection.execute(free.values(heartbeat_at=epoch_now(), **mine).returning(s.c.most, s.c.form)).first()
        if taken is None:
            raise EditionLost(
                f"shard {number} of {batch} is another process's already", batch=batch, edition=edition, shard=number
            )
    return ours, taken.most, taken.form


def heartbeat(database: Database, edition: Edition) -> Control:
    """Say that the process of this shard lives, and hear what is asked of the batch. Raises EditionLost where the shard
    has ended, or the process that owns the edition is dead; DatabaseError."""
    with database.writing() as connection:
        beat = update(s).where(*terms.of_shard(edition)).values(heartbeat_at=epoch_now())
        there = connection.execute(beat).rowcount
        silence = (epoch_now() - e.c.heartbeat_at).label("silence")
        row = connection.execute(select(e, silence).where(*terms.ours(edition))).first()
        if row is None or not there:
            raise terms.lost(edition)
        owner = owner_of(row)
        if owner is None or is_gone(owner, silence=row.silence):
            raise EditionLost(
                f"the process that owns edition {edition.name} of {edition.batch} has died",
                hint="the command that started the batch goes on with it",
                batch=edition.batch,
                edition=edition.name,
            )
        asked: Control = row.control
        return asked


def end(database: Database, edition: Edition, *, reason: str = "") -> None:
    """Say, as the worker, that this shard has ended, and why where that was before its time. Raises DatabaseError."""
    with database.writing() as connection:
        ended = {"ended_at": time.time(), "reason": reason, "form": ""}
        connection.execute(update(s).where(*terms.of_shard(edition)).values(ended))


def withdraw(database: Database, edition: Edition, number: int) -> bool:
    """End a shard that no worker has taken up, as the edition's owner; then none will. False where one has. Raises
    EditionLost, DatabaseError."""
    row = s.c.edition_id == edition.id, s.c.term == edition.term, s.c.number == number, s.c.pid.is_(None)
    with database.writing() as connection:
        terms.hold(connection, edition)
        return bool(connection.execute(update(s).where(*row).values(ended_at=time.time(), form="")).rowcount)


def reap(database: Database, edition: Edition, number: int, *, again: bool = False) -> int:
    """End a shard as the edition's owner, for a worker that has done so, or is dead: what it had claimed is pending,
    what it has parked is anybody's; with ``again`` what was cancelled in it may be claimed again in this term. Returns
    how many of its items have ended. Raises EditionLost, DatabaseError."""
    now = time.time()
    its = t.c.edition_id == edition.id, t.c.term == edition.term, t.c.shard == number
    with database.writing() as connection:
        terms.hold(connection, edition)
        row = s.c.edition_id == edition.id, s.c.term == edition.term, s.c.number == number
        connection.execute(update(s).where(*row).values(ended_at=func.coalesce(s.c.ended_at, now), form=""))
        running = update(t).where(*its, t.c.state == "running")
        connection.execute(running.values(state="pending", held=False, shard=None, changed_at=now))
        connection.execute(update(t).where(*its, t.c.state == "parked").values(shard=None))
        if again:
            connection.execute(update(t).where(*its, t.c.state == "pending").values(held=False))
        done = select(func.count()).select_from(t).where(*its, t.c.state.in_(("answered", "failed")))
        found: int = connection.execute(done).scalar_one()
        return found


def opened(database: Database, edition: Edition, numbers: list[int]) -> dict[int, ShardState]:
    """How these shards of the edition stand. Raises DatabaseError."""
    query = select(s, _SILENCE).where(s.c.edition_id == edition.id, s.c.term == edition.term, s.c.number.in_(numbers))
    with database.reading() as connection:
        rows = connection.execute(query).all()
    return {
        row.number: ShardState(
            number=row.number,
            most=row.most,
            taken=row.taken,
            owner=owner_of(row),
            silence=row.silence,
            ended=row.ended_at is not None,
            reason=row.reason,
        )
        for row in rows
    }


def of_earlier_terms(database: Database, edition: Edition) -> int:
    """How many shards of earlier terms may still be at work: they end by themselves. Where none is, they are forgotten.
    Raises DatabaseError."""
    before = s.c.edition_id == edition.id, s.c.term < edition.term
    with database.reading() as connection:
        rows = connection.execute(select(s, _SILENCE).where(*before)).all()
    open_ones = [(owner_of(row), row.silence) for row in rows if row.ended_at is None]
    left = sum(owner is not None and not is_gone(owner, silence=silence) for owner, silence in open_ones)
    if rows and not left:
        with database.writing() as connection:
            connection.execute(delete(s).where(*before))
    return left


def waiting(database: Database, edition: Edition, most: int, *, now: float | None = None) -> Waiting:
    """What no shard has: how many items may be claimed now, counted up to ``most``, and when the next parked one may.
    Raises DatabaseError."""
    now = time.time() if now is None else now
    here = t.c.edition_id == edition.id
    free = here, t.c.state == "pending", t.c.held.is_(False) | (t.c.term != edition.term)
    parked = here, t.c.parked_until.is_not(None), t.c.shard.is_(None) | (t.c.term != edition.term)
    with database.reading() as connection:
        found = sum(
            connection.execute(select(func.count()).select_from(_some(most, *those))).scalar_one()
            for those in (free, (*parked, t.c.parked_until <= now))
        )
        due = select(func.min(t.c.parked_until)).where(*parked, t.c.parked_until > now)
        return Waiting(found, connection.execute(due).scalar())


def _some(most: int, *conditions: Any) -> Any:
    query: Select[int] = select(t.c.id).where(*conditions).limit(most)
    return query.subquery()
