"""Editions: beginning and ending them, one owner at a time, and what other processes ask of the owner."""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import Connection, Row, select, update

from atomic.errors import EditionBusy, UsageError
from atomic.record import Owner
from atomic.record.owner import this_process
from flows.database import items, terms
from flows.database.engine import Database
from flows.database.facts import Control, Counts, Edition, EditionStatus
from flows.database.ownership import OWNER, epoch_now, in_words, is_gone, owner_of
from flows.database.tables import batches as b
from flows.database.tables import editions as e

_NOBODY = dict.fromkeys(OWNER)
DIED = "the process that carried it out died"


def begin(
    database: Database,
    batch: str,
    *,
    edition: str | None = None,
    new: bool = False,
    input: str = "",  # noqa: A002 - the column's name
    output: str = "",
    owner: Owner | None = None,
    now: float | None = None,
) -> Edition:
    """Begin an edition, or go on with one: this process (``owner``) carries it out from now on.

    ``edition`` names it, and makes it where there is none; without a name it is the newest unfinished one, else the
    newest, else a first one; skipped ones do not count. ``new`` makes another, named by its time. What a dead owner
    left running is pending again. Raises EditionBusy where a living process, or one elsewhere that may live, carries
    out any edition of the batch; UsageError where ``new`` names an edition that is there; DatabaseError.
    """
    owner = owner or this_process()
    now = time.time() if now is None else now
    with database.writing() as connection:
        batch_id = _locked_batch(database, connection, batch, owner, now)
        left = _close_dead(connection, batch, batch_id)
        row = None if new else _chosen(connection, batch_id, edition)
        given = {
            **owner.model_dump(include=set(OWNER)),
            "status": "running",
            "reason": "",
            "control": "run",
            "control_by": None,
            "input": input,
            "output": output,
            "begun_at": now,
            "heartbeat_at": epoch_now(),
            "ended_at": None,
        }
        if row is None:
            name = _free_name(connection, batch_id, edition, now, batch)
            made_now = {"batch_id": batch_id, "name": name, "term": 1, "fingerprint": "", "created_at": now}
            made = connection.execute(e.insert().values(**made_now, **given).returning(e.c.id)).scalar_one()
            return Edition(made, batch, name, 1, resumed=False, taken_from=None, counts=Counts())
        term = row.term + 1
        connection.execute(update(e).where(e.c.id == row.id).values(term=term, **given))
        counts = items.count(connection, row.id)
        return Edition(row.id, batch, row.name, term, resumed=True, taken_from=left.get(row.id), counts=counts)


def exists(database: Database, batch: str, edition: str) -> bool:
    """Whether the history has an edition of that name. Raises DatabaseError."""
    with database.reading() as connection:
        query = select(e.c.id).join(b, e.c.batch_id == b.c.id).where(b.c.name == batch, e.c.name == edition)
        return connection.execute(query).first() is not None


def heartbeat(database: Database, edition: Edition) -> Control:
    """Say that this process lives, and hear what is asked of it; every HEARTBEAT_EVERY seconds. Raises EditionLost,
    DatabaseError."""
    with database.writing() as connection:
        query = update(e).where(*terms.ours(edition)).values(heartbeat_at=epoch_now()).returning(e.c.control)
        asked: Control | None = connection.execute(query).scalar()
        if asked is None:
            raise terms.lost(edition)
        return asked


def ask_shards(database: Database, edition: Edition, control: Control) -> None:
    """Ask something of the shards of a pool, as the owner of their edition. Raises EditionLost, DatabaseError."""
    with database.writing() as connection:
        terms.hold(connection, edition)
        connection.execute(update(e).where(e.c.id == edition.id).values(control=control))


def finish(database: Database, edition: Edition, *, reason: str = "", now: float | None = None) -> EditionStatus:
    """Carry it out no longer: ``finished`` when every item has ended, else ``stopped`` for a reason. What was running
    is pending again. Raises EditionLost, DatabaseError."""
    with database.writing() as connection:
        terms.hold(connection, edition)
        items.put_back(connection, edition.id)
        status: EditionStatus = "stopped" if items.count(connection, edition.id).left else "finished"
        ended_at = time.time() if now is None else now
        connection.execute(
            update(e)
            .where(e.c.id == edition.id)
            .values(status=status, reason=reason, control="run", control_by=None, ended_at=ended_at, **_NOBODY)
        )
        return status


def skip(database: Database, batch: str, edition: str, *, reason: str, now: float | None = None) -> bool:
    """Note that an edition was not carried out, and why. It is gone on with only by its name. False where there is an
    edition of that name. Raises DatabaseError."""
    owner = this_process()
    now = time.time() if now is None else now
    with database.writing() as connection:
        values = {
            "batch_id": _locked_batch(database, connection, batch, owner, now),
            "name": edition,
            "status": "skipped",
            "reason": reason,
            "term": 0,
            "control": "run",
            **dict.fromkeys(("input", "fingerprint", "output"), ""),
            **dict.fromkeys(("created_at", "begun_at", "heartbeat_at", "ended_at"), now),
        }
        noted = database.insert(e).values(values).on_conflict_do_nothing().returning(e.c.id)
        return connection.execute(noted).scalar() is not None


def _locked_batch(database: Database, connection: Connection, name: str, owner: Owner, now: float) -> int:
    """The batch's id; nobody else begins an edition of it within the transaction."""
    made = database.insert(b).values(name=name, created_at=now, host=owner.host, user=owner.user)
    connection.execute(made.on_conflict_do_nothing())
    found: int = connection.execute(select(b.c.id).where(b.c.name == name).with_for_update()).scalar_one()
    return found


def _close_dead(connection: Connection, batch: str, batch_id: int) -> dict[int, Owner]:
    """End what dead processes left running; by edition the owners that died. Raises EditionBusy for a living one."""
    left: dict[int, Owner] = {}
    query = select(e, (epoch_now() - e.c.heartbeat_at).label("silence"))
    for row in connection.execute(query.where(e.c.batch_id == batch_id, e.c.status == "running").with_for_update()):
        owner = owner_of(row)
        assert owner is not None, "a running edition has an owner"
        if not is_gone(owner, silence=row.silence):
            raise _busy(batch, row, owner)
        left[row.id] = owner
    for edition_id in left:
        items.put_back(connection, edition_id)
        closed = {"status": "stopped", "reason": DIED, "ended_at": e.c.heartbeat_at, "term": e.c.term + 1, **_NOBODY}
        connection.execute(update(e).where(e.c.id == edition_id).values(closed))
    return left


def _busy(batch: str, row: Row[*tuple[Any, ...]], owner: Owner) -> EditionBusy:
    since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(row.begun_at))
    who = in_words(owner)
    return EditionBusy(
        f"{batch} is running: {who} carries out edition {row.name} since {since}; "
        f"its last sign of life is {max(row.silence, 0):.0f} s old",
        hint=f"wait for it, or end it: atomic-flows stop {batch}",
        batch=batch,
        edition=row.name,
        owner=who,
        since=row.begun_at,
        heartbeat=row.heartbeat_at,
    )


def _chosen(connection: Connection, batch_id: int, name: str | None) -> Row[*tuple[Any, ...]] | None:
    """The edition to go on with; None where another is to be made."""
    query = select(e.c.id, e.c.name, e.c.term).where(e.c.batch_id == batch_id)
    if name is not None:
        return connection.execute(query.where(e.c.name == name)).first()
    query = query.where(e.c.status != "skipped")
    return connection.execute(
        query.order_by(e.c.status == "finished", e.c.created_at.desc(), e.c.id.desc()).limit(1)
    ).first()


def _free_name(connection: Connection, batch_id: int, asked: str | None, now: float, batch: str) -> str:
    taken = set(connection.execute(select(e.c.name).where(e.c.batch_id == batch_id)).scalars())
    if asked is not None:
        if asked in taken:
            raise UsageError(
                f"{batch} has an edition {asked} already, so that it cannot be a new one",
                hint="leave --new out to go on with it, or give another name",
                batch=batch,
                edition=asked,
            )
        return asked
    # By its time, not by a number: keys of runs hold it, and must not meet those of a database that was thrown away.
    named = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now))
    n = 1
    while (name := named if n == 1 else f"{named}-{n}") in taken:
        n += 1
    return name
