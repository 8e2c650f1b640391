"""Batches that run, or are to be gone on with: listing them, and asking something of whoever carries them out."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from atomic.errors import BatchNotFound, DatabaseError
from atomic.settings import Settings, load_settings
from flows.database import Control, Database, EditionState, control
from flows.database.urls import read_url, sqlite_file

STOP_PATIENCE = 90.0  # seconds for a batch to stop its agents, to sweep and to write: several graces, many at once
POLL = 0.2
UNFINISHED = 5  # batches that stopped before their end which a listing shows


@contextlib.contextmanager
def batches_of(settings: Settings) -> Iterator[Database | None]:
    """The database of these settings; None where none has been made yet: looking makes none. Raises DatabaseError."""
    file = sqlite_file(read_url(settings.history.url, settings.home))
    if file is not None and not file.exists():
        yield None
        return
    database = Database.open(settings.history.url, home=settings.home)
    try:
        yield database
    finally:
        database.close()


def ask(batch: str, what: Control, config: Path | None) -> EditionState:
    """Ask something of the process that carries a batch out. Raises BatchNotFound where nobody does, DatabaseError."""
    with batches_of(load_settings(config=config)) as database:
        if database is None:
            raise BatchNotFound(f"no batch {batch!r}", hint="no batch has been started yet", batch=batch)
        return control.set_control(database, batch, what)


def shown_editions(database: Database) -> list[EditionState]:
    """What a listing shows: what runs, then some of what stopped before its end, or was due last and not carried
    out."""
    running, stopped = [], []
    for name in control.batch_names(database):
        found = control.editions_of(database, name)
        running += [edition for edition in found if edition.alive]
        if found[0].status == "skipped":
            stopped.append(found[0])
        newest = next((edition for edition in found if edition.status != "skipped"), None)
        if newest is not None and newest.status != "finished" and not newest.alive and newest.counts.left:
            stopped.append(newest)
    return [*running, *stopped[:UNFINISHED]]


def running_editions(database: Database) -> list[EditionState]:
    """What living processes carry out."""
    found = (control.running(database, name) for name in control.batch_names(database))
    return [edition for edition in found if edition is not None]


def stop_edition(database: Database, edition: EditionState, *, drain: bool) -> EditionState:
    """Ask for an end, and wait for it unless it is to come by itself (``drain``). Raises BatchNotFound where it ended
    meanwhile, DatabaseError where it does not end."""
    asked = control.set_control(database, edition.batch, "drain" if drain else "stop")
    until = time.monotonic() + STOP_PATIENCE
    while not drain:
        now = control.running(database, edition.batch)
        if now is None or now.id != edition.id:
            return next(one for one in control.editions_of(database, edition.batch) if one.id == edition.id)
        if time.monotonic() > until:
            pid = f"process {edition.owner.pid}" if edition.owner else "its process"
            raise DatabaseError(
                f"batch {edition.batch} does not end, though {pid} was asked to",
                hint=f"end {pid} by kill -9; the next start of the batch cleans up what it leaves",
                reason="failed",
            )
        time.sleep(POLL)
    return asked


def edition_facts(edition: EditionState) -> dict[str, Any]:
    """An edition for `status --json`."""
    counts, owner = edition.counts, edition.owner
    return {
        "batch": edition.batch,
        "edition": edition.name,
        "state": edition_state(edition),
        "reason": edition.reason,
        "total": counts.total,
        "answered": counts.answered,
        "failed": counts.failed,
        "running": counts.running,
        "parked": counts.parked,
        "pending": counts.pending,
        "seconds": round(max(time.time() - edition.begun_at, 0), 1) if edition.alive else None,
        "input": edition.input,
        "output": edition.output,
        "owner": {"pid": owner.pid, "host": owner.host, "user": owner.user} if owner else None,
    }


def edition_state(edition: EditionState) -> str:
    """What becomes of it now, in a word or two."""
    if not edition.alive:
        return "cut off by a kill" if edition.status == "running" else edition.status
    return {"run": "running", "pause": "paused", "drain": "draining", "stop": "stopping"}[edition.control]
