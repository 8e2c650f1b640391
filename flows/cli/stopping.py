"""`stop`: which run or batch is meant, and ending it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from atomic.errors import RunNotFound, UsageError
from atomic.record.owner import this_process
from atomic.runner import open_store
from atomic.settings import Settings
from atomic.text import one_line
from flows.cli.batches import batches_of, running_editions, stop_edition
from flows.cli.openruns import choose, open_runs, stop_runs
from flows.database import Database, EditionState, control


def stop_named(settings: Settings, name: str, *, drain: bool) -> Iterator[str]:
    """Stop the batch of this name, else the run of this id. Lines that say what was done. Raises UsageError for a run
    that is an item of a batch, BatchNotFound, RunNotFound, RecordError, DatabaseError."""
    with batches_of(settings) as database:
        known = [] if database is None else control.batch_names(database)
        if database is not None and name in known:
            edition = control.running(database, name)
            if edition is None:
                yield f"batch {one_line(name)} was not running"
            else:
                yield _stopped(database, edition, drain=drain)
            return
    store = open_store(settings)
    try:
        runs = choose(store, name)
    except RunNotFound as error:
        if known:
            raise RunNotFound(error.message, hint=f"batches are: {', '.join(known[:5])}", run_id=name) from None
        raise
    if drain:
        raise UsageError("a run cannot be drained: it has one session at a time", hint="leave --drain out")
    batch = next((one.record.batch for one in runs if one.record is not None and one.record.batch), None)
    if batch is not None:
        raise UsageError(
            f"run {runs[0].run_id} is an item of the batch {batch}", hint=f"`atomic-flows stop {batch}` stops them all"
        )
    asyncio.run(stop_runs(store, runs))
    if runs:
        yield f"stopped {runs[0].run_id}; the record is kept"
    else:
        yield f"run {store.resolve(name)} had ended already"


def stop_everything(settings: Settings, *, drain: bool) -> Iterator[str]:
    """Stop the batches, then the runs, of this user on this machine. Lines as :func:`stop_named`."""
    nothing = True
    with batches_of(settings) as database:
        for edition in [] if database is None else running_editions(database):
            if database is not None and edition.owner is not None and edition.owner.host == this_process().host:
                nothing = False
                yield _stopped(database, edition, drain=drain)
    store = open_store(settings)
    runs = [run for run in open_runs(store) if not (drain and run.record is not None and run.record.batch)]
    asyncio.run(stop_runs(store, runs))
    if runs:
        yield f"stopped {', '.join(one.run_id for one in runs)}; the record is kept"
    elif nothing:
        yield "nothing was running"


def _stopped(database: Database, edition: EditionState, *, drain: bool) -> str:
    name = one_line(edition.batch)
    after = stop_edition(database, edition, drain=drain)
    if drain:
        return f"batch {name} begins nothing new, and ends when its {after.counts.running} live items have"
    left = f"; the command that started it goes on with the {after.counts.left} left" if after.counts.left else ""
    return f"stopped batch {name}{left}"
