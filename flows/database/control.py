"""Batches as anybody sees them, and what is asked of the process that carries one out."""

from __future__ import annotations

import difflib
from typing import Any

from sqlalchemy import Connection, Row, func, select, update

from atomic.errors import BatchNotFound
from atomic.record.owner import this_process
from flows.database import items
from flows.database.engine import Database
from flows.database.facts import Control, EditionState
from flows.database.ownership import epoch_now, is_gone, owner_of
from flows.database.tables import batches as b
from flows.database.tables import editions as e

NEWEST = 20  # editions that a listing shows: three weeks of nights


def batch_names(database: Database) -> list[str]:
    """The names of all batches, the one begun last first. Raises DatabaseError."""
    newest = select(func.max(e.c.begun_at)).where(e.c.batch_id == b.c.id).scalar_subquery()
    with database.reading() as connection:
        return list(connection.execute(select(b.c.name).order_by(newest.desc().nulls_last(), b.c.name)).scalars())


def editions_of(database: Database, batch: str, *, limit: int = NEWEST) -> list[EditionState]:
    """The editions of a batch, the newest first. Raises BatchNotFound, DatabaseError."""
    with database.reading() as connection:
        rows = connection.execute(_editions(batch).order_by(e.c.created_at.desc(), e.c.id.desc()).limit(limit)).all()
        found = [_state(connection, row) for row in rows]
    if not found:
        raise _unknown(database, batch)
    return found


def running(database: Database, batch: str) -> EditionState | None:
    """The edition of a batch that a living process carries out, or one that may live elsewhere; None where there is
    none. Raises DatabaseError."""
    with database.reading() as connection:
        rows = connection.execute(_editions(batch).where(e.c.status == "running")).all()
        return next((state for row in rows if (state := _state(connection, row)).alive), None)


def set_control(database: Database, batch: str, control: Control) -> EditionState:
    """Ask something of the process that carries a batch out; it hears with its next heartbeat. Raises BatchNotFound
    where nobody carries it out, DatabaseError."""
    found = running(database, batch)
    if found is None:
        if batch in batch_names(database):
            raise BatchNotFound(
                f"{batch} is not running", hint="give the command that started it again to go on with it", batch=batch
            )
        raise _unknown(database, batch)
    me = this_process()
    by = f"{me.user or 'somebody'}@{me.host}"
    with database.writing() as connection:
        asked = update(e).where(e.c.id == found.id, e.c.status == "running").values(control=control, control_by=by)
        connection.execute(asked)
        return _state(connection, connection.execute(_editions(batch).where(e.c.id == found.id)).one())


def _editions(batch: str) -> Any:
    silence = (epoch_now() - e.c.heartbeat_at).label("silence")
    return select(e, b.c.name.label("batch"), silence).join(b, b.c.id == e.c.batch_id).where(b.c.name == batch)


def _state(connection: Connection, row: Row[*tuple[Any, ...]]) -> EditionState:
    owner = owner_of(row)
    return EditionState(
        id=row.id,
        batch=row.batch,
        name=row.name,
        status=row.status,
        reason=row.reason,
        alive=owner is not None and not is_gone(owner, silence=row.silence),
        owner=owner,
        control=row.control,
        control_by=row.control_by,
        input=row.input,
        fingerprint=row.fingerprint,
        output=row.output,
        created_at=row.created_at,
        begun_at=row.begun_at,
        heartbeat_at=row.heartbeat_at,
        ended_at=row.ended_at,
        counts=items.count(connection, row.id),
    )


def _unknown(database: Database, batch: str) -> BatchNotFound:
    names = batch_names(database)
    near = next(iter(difflib.get_close_matches(batch, names, 1)), None)
    hint = f"did you mean {near}?" if near else f"there are: {', '.join(names[:NEWEST])}" if names else None
    return BatchNotFound(f"no batch {batch!r}", hint=hint or "no batch has been started yet", batch=batch, nearest=near)
