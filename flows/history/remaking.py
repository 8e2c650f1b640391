"""Batches, editions and items as their runs tell them, where the database has none of them any more.

Items that never ran left no record, and come back when the batch's command is given again. What their input was is
not known either: it is written down by that command, which goes on with the edition and buys no answer twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, func, select, update

from atomic.record import RunRecord
from atomic.runner.results import result_of
from atomic.verdict.facts import Status
from flows.batch.results import result_line
from flows.database import Database
from flows.database.items import of_run_key, state_after
from flows.database.runs import Recorded
from flows.database.tables import batches as b
from flows.database.tables import editions as e
from flows.database.tables import items as i

REASON = "made anew from the records"
UNKNOWN = "{}"  # the source of an item, until its batch's command is given again
_MOVE = update(i).where(i.c.id == bindparam("item")).values(position=bindparam("at"))


class Remaking:
    """Makes batches anew while runs are read, the newest first: of an item's runs the newest counts."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._editions: dict[tuple[str, str], int | None] = {}  # None: it was kept, and knows more than its runs
        self._began: dict[int, float] = {}  # by edition
        self._batches: set[int] = set()  # made here

    def take(self, connection: Connection, entries: Sequence[Recorded]) -> None:
        """Make what is missing of the batches that these runs are of."""
        rows = []
        for one in sorted(entries, key=lambda one: one.run.run_id, reverse=True):
            run = one.run
            if run.batch is None or run.edition is None:
                continue
            edition = self._edition(connection, run, run.batch, run.edition)
            if edition is not None and run.ended and run.custom_id is not None and run.key is not None:
                rows.append(_item(one, edition, run.custom_id))
        known = [row for row in rows if row is not None]
        if known:
            connection.execute(self._database.insert(i).on_conflict_do_nothing(), known)

    def finish(self, connection: Connection) -> None:
        """Put the items in the order in which they ran, and note when the editions were carried out."""
        for edition, began in self._began.items():
            ids = connection.execute(select(i.c.id).where(i.c.edition_id == edition).order_by(i.c.run_id)).scalars()
            moves = [{"item": item, "at": n} for n, item in enumerate(ids)]
            if moves:
                connection.execute(_MOVE, moves)
            last = select(func.max(i.c.changed_at)).where(i.c.edition_id == edition).scalar_subquery()
            ended = func.coalesce(last, began)
            times = {"created_at": began, "begun_at": began, "heartbeat_at": ended, "ended_at": ended}
            connection.execute(update(e).where(e.c.id == edition).values(times))
        first = select(func.min(e.c.created_at)).where(e.c.batch_id == b.c.id).scalar_subquery()
        connection.execute(update(b).where(b.c.id.in_(self._batches)).values(created_at=first))

    def _edition(self, connection: Connection, run: RunRecord, batch: str, name: str) -> int | None:
        if (batch, name) not in self._editions:
            self._editions[batch, name] = self._made(connection, run, batch, name)
        edition = self._editions[batch, name]
        if edition is not None:
            self._began[edition] = min(self._began.get(edition, run.created_at), run.created_at)
        return edition

    def _made(self, connection: Connection, run: RunRecord, batch: str, name: str) -> int | None:
        owner = run.owner
        by = {"host": owner.host if owner else "", "user": owner.user if owner else ""}
        new = self._database.insert(b).values(name=batch, created_at=run.created_at, **by)
        made_here = connection.execute(new.on_conflict_do_nothing().returning(b.c.id)).scalar()
        if made_here is not None:
            self._batches.add(made_here)
        batch_id = connection.execute(select(b.c.id).where(b.c.name == batch)).scalar_one()
        values: dict[str, Any] = {
            "batch_id": batch_id,
            "name": name,
            "status": "stopped",
            "reason": REASON,
            "term": 1,
            "control": "run",
            **dict.fromkeys(("input", "fingerprint", "output"), ""),
            **dict.fromkeys(("created_at", "begun_at", "heartbeat_at", "ended_at"), run.created_at),
        }
        made = self._database.insert(e).values(values).on_conflict_do_nothing().returning(e.c.id)
        found: int | None = connection.execute(made).scalar()
        return found


def _item(one: Recorded, edition: int, custom_id: str) -> dict[str, Any] | None:
    """The row of an item by its newest run; None where the run is no item's."""
    run = one.run
    known = of_run_key(run.key or "", run.batch or "", run.edition or "", custom_id)
    if known is None:
        return None
    digest, round_ = known
    state = state_after(Status(run.status), run.kind)
    over = state != "pending"
    return {
        "edition_id": edition,
        "position": 0,
        "custom_id": custom_id,
        "digest": digest,
        "round": round_,
        "state": state,
        "term": 1,
        "held": not over,
        "shard": None,
        "claims": 1,
        "parked_until": None,
        "changed_at": run.ended_at or run.created_at,
        "run_id": run.run_id,
        "kind": run.kind,
        "source": UNKNOWN,
        "result": result_line(custom_id, result_of(run, (), one.record)) if over else None,
    }
