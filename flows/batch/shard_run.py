"""A shard in a worker's process: its items are carried out as a batch's are, for the process that owns the edition."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path

from atomic.errors import AtomicError
from atomic.processes import Steady
from atomic.settings import Settings
from flows.batch.across import Across
from flows.batch.budget import Meter
from flows.batch.carry_out import make_engine
from flows.batch.engine import Engine, OpenShard, directly
from flows.batch.facts import BatchRequest
from flows.batch.gathering import NoFiles
from flows.batch.preflight import preflight
from flows.batch.recovered import keep_recovered
from flows.batch.shard_form import request_of
from flows.batch.stopping import Stop
from flows.database import Control, Counts, Database, Edition, runs, shards
from flows.unsettled import recover_and_note

SPENT_EVERY = 5.0  # seconds between two looks at what all shards together have spent


class ShardRun:
    """One shard, from being taken up to its end; made by :func:`taken_up`. ``stop`` ends it before its time."""

    def __init__(self, database: Database, edition: Edition, request: BatchRequest) -> None:
        self.request = request
        self.edition = edition
        self.stop = Stop()
        self.said: list[str] = []  # for a person
        self._database = database
        self._meter = Meter()
        self._summed_at = float("-inf")

    async def to_its_end(self, open_shard: OpenShard = directly, across: Across | None = None) -> Engine:
        """Carry its items out, and say in the database that it has ended, whatever ended it. Raises UsageError before
        anything is spent, EditionLost where the edition is another process's by now, or nobody's any more;
        DatabaseError, PlaceError, RecordError. A cancel is passed on when nothing lives any more."""
        reason = "it was cancelled"
        try:
            recovered = await recover_and_note(self.request.store, adopt=self.request.settings.adopt)
            await self._database.apart(keep_recovered, self.request, recovered)
            self.request, said = await preflight(self.request)
            self.said += said
            files = NoFiles(self.request.output, self.edition.batch, self.edition.name)
            with self.request.occupying():
                engine = await make_engine(
                    self.request,
                    self.edition,
                    self._database,
                    files,
                    meter=self._meter,
                    counts=Counts(pending=self.request.asked.limit or 0),
                    stop=self.stop,
                    say=self.said.append,
                    across=across,
                    beat=self._beat,
                )
                await engine.carry_out(open_shard)
            reason = self.stop.reason
            return engine
        except AtomicError as error:
            reason = error.message
            raise
        finally:
            await self._end(reason)

    def _beat(self, database: Database, edition: Edition) -> Control:
        """As :data:`flows.batch.engine.Beat`; what the other shards have spent counts here, too."""
        now = time.monotonic()
        if now - self._summed_at >= SPENT_EVERY:
            self._summed_at = now
            spent = runs.spent(database, edition.batch, edition.name)
            self._meter.at_least(spent.cost_usd, spent.tokens)
        return shards.heartbeat(database, edition)

    async def _end(self, reason: str) -> None:
        steady = Steady()
        ending = asyncio.get_running_loop().create_task(self._database.apart(shards.end, self.edition, reason=reason))
        await steady.wait(ending, None)
        with contextlib.suppress(AtomicError):  # its owner finds that this process has ended
            await ending
        if steady.cancelled:
            raise asyncio.CancelledError


@contextlib.asynccontextmanager
async def taken_up(
    settings: Settings, *, batch: str, edition: str, term: int, number: int, cwd: str
) -> AsyncIterator[ShardRun]:
    """A shard that this process has taken up, and the database that it is in. Raises UsageError, EditionLost,
    DatabaseError before anything is spent."""
    database = await asyncio.to_thread(Database.open, settings.history.url, home=settings.home)
    try:
        ours, most, form = await database.apart(shards.take, batch, edition, term=term, number=number)
        try:
            request = request_of(form, batch=batch, cwd=Path(cwd), most=most, settings=settings)
        except AtomicError as error:
            await database.apart(shards.end, ours, reason=error.message)
            raise
        yield ShardRun(database, ours, request)
    finally:
        await asyncio.to_thread(database.close)
