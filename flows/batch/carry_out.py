"""A batch from its check to its end: recover, preflight, begin the edition, carry it out, say what it came to."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from atomic.errors import AtomicError, BatchBroken, DatabaseError, PlaceError, RecordError, UsageError
from atomic.models import ModelRef
from atomic.recovery import Recovered
from flows.batch.across import Across
from flows.batch.budget import Meter
from flows.batch.coordinator import Coordinator
from flows.batch.engine import Beat, Engine, OnProgress, OpenShard, directly
from flows.batch.facts import BatchProgress, BatchRequest, BatchResult, Ending, Notice, OnBatchEvent
from flows.batch.items import changed, origin_of, rows_of
from flows.batch.pool import Pool
from flows.batch.preflight import preflight
from flows.batch.probes import Probes, askable
from flows.batch.recovered import keep_recovered
from flows.batch.results import ERRORS, RESULTS, ResultFiles, check_output
from flows.batch.stopping import Stop
from flows.batch.webhook import send, wanted
from flows.cooldowns import SharedCooldowns, shared_names
from flows.database import HEARTBEAT_EVERY, Counts, Database, Edition, Loaded, editions, items, loading, runs, shards
from flows.unsettled import recover_and_note


class BatchRun:
    """One call of a batch. ``stop`` ends it before its time, from a signal's handler as well; ``result`` is there
    afterwards."""

    def __init__(self, request: BatchRequest, on_event: OnBatchEvent | None = None) -> None:
        self.request = request
        self.stop = Stop()
        self._engine: Engine | Coordinator | None = None
        self.flow_run_id: str | None = None
        self.result: BatchResult | None = None
        self.told = True  # unless Prefect's server had gone when its flow run ended
        self.handlers: Mapping[signal.Signals, Any] = {}  # of signals, the caller's own, see flows.cancel
        self._on_event = on_event
        self._warnings: list[str] = []
        self._begun_at = time.monotonic()

    @property
    def progress(self) -> BatchProgress | None:
        """How it stands, or stood in the end; None before its edition is carried out."""
        return None if self._engine is None else self._engine.progress()

    async def to_its_end(
        self, open_shard: OpenShard = directly, across: Across | None = None, pool: Pool | None = None
    ) -> BatchResult:
        """Carry it out. ``across`` gives sessions their places where a limit of all machines is asked for; ``pool``
        runs the shards where workers are asked for.

        Raises UsageError before anything is spent (EditionBusy, where another process is at it; FolderBusy,
        where another session is at work in one of its folders), DatabaseError, PlaceError, RecordError; EditionLost;
        BatchBroken where one of those three comes up when something has been spent. A cancel is passed on when nothing
        lives any more.
        """
        settings, limit = self.request.settings, self.request.asked.limit_across
        if limit is not None and across is None:
            raise UsageError(
                f"the limit {limit} is shared through Prefect's server, and this batch goes without",
                hint="leave out --direct, or the limit (--limit-across, batch.limit_across)",
                key="limit_across",
            )
        if self.request.asked.shards_on is not None and pool is None:
            raise UsageError(
                f"shards on workers ({self.request.asked.shards_on}) go through Prefect, and this batch goes without",
                hint="leave out --direct, or the workers (--shards-on, batch.shards_on)",
                key="shards_on",
            )
        recovered = await recover_and_note(self.request.store, adopt=settings.adopt)
        if pool is None:  # else the workers ask, with their own keys
            self.request, said = await preflight(self.request)
            for text in said:
                self.say(text)
        database = await asyncio.to_thread(Database.open, settings.history.url, home=settings.home)
        try:
            with contextlib.nullcontext() if pool else self.request.occupying():
                result = await self._edition(database, recovered, open_shard, across, pool)
        finally:
            await asyncio.to_thread(database.close)
        if wanted(settings.webhook, result) and (wrong := await send(settings.webhook, result)) is not None:
            self.say(wrong)
            result = result.model_copy(update={"warnings": tuple(self._warnings)})
        self.result = result
        return result

    def say(self, text: str) -> None:
        """Tell a person something, and keep it for the result."""
        self._warnings.append(text)
        if self._on_event is not None:
            self._on_event(Notice(text=text))

    async def _edition(
        self,
        database: Database,
        recovered: Recovered,
        open_shard: OpenShard,
        across: Across | None,
        pool: Pool | None,
    ) -> BatchResult:
        request, asked = self.request, self.request.asked
        await asyncio.to_thread(keep_recovered, database, request, recovered)
        if asked.edition is None and not asked.new:
            await database.apart(require_known, request)
        edition = await database.apart(
            editions.begin,
            request.name,
            edition=asked.edition,
            new=asked.new,
            input=str(request.checked.path.absolute()),
            output=str(request.output),
        )
        reason = "it broke off"
        try:
            if edition.taken_from is not None:
                self.say(f"edition {edition.name} is taken over from process {edition.taken_from.pid}, which died")
            await self._others_end(database, edition)
            files, counts, loaded = await database.apart(load, edition, request)
            with contextlib.closing(files):
                if edition.resumed and (what := of_loading(loaded, counts)):
                    self.say(f"edition {edition.name} goes on: {what}")
                engine: Engine | Coordinator
                if pool is None:
                    self._engine = engine = await self._make_engine(database, edition, files, counts, across)
                    carrying_out = engine.carry_out(open_shard)
                else:
                    self._engine = engine = await self._make_coordinator(database, edition, files, counts, pool)
                    carrying_out = engine.carry_out()
                try:
                    await carrying_out
                except (PlaceError, RecordError, DatabaseError) as error:
                    if engine.begun:
                        raise broken(edition, error) from error
                    raise
            reason = ""
        except AtomicError as error:
            reason = error.message
            raise
        finally:
            reason = self.stop.reason or reason
            await _finish(database, edition, reason)
        return await database.apart(self._result, edition, engine)

    async def _make_engine(
        self, database: Database, edition: Edition, files: ResultFiles, counts: Counts, across: Across | None
    ) -> Engine:
        return await make_engine(
            self.request,
            edition,
            database,
            files,
            meter=await _meter(database, edition),
            counts=counts,
            stop=self.stop,
            say=self.say,
            across=across,
            on_progress=self._on_event,
        )

    async def _make_coordinator(
        self, database: Database, edition: Edition, files: ResultFiles, counts: Counts, pool: Pool
    ) -> Coordinator:
        asked = self.request.asked.shards_on
        assert asked is not None, "a pool is that of a deployment which was asked for"
        return Coordinator(
            self.request,
            edition,
            database,
            files,
            pool=pool,
            asked=asked,
            meter=await _meter(database, edition),
            counts=counts,
            stop=self.stop,
            say=self.say,
            on_progress=self._on_event,
        )

    async def _others_end(self, database: Database, edition: Edition) -> None:
        """Wait until the shards have ended that workers carried out for a process which died: they hear of it with
        their next heartbeat. Raises EditionLost, DatabaseError."""
        said = False
        while self.stop.how is None and (left := await database.apart(shards.of_earlier_terms, edition)):
            if not said:
                said = True
                self.say(f"{left} of its shards are still at work on workers: they are about to stop")
            await database.apart(editions.heartbeat, edition)
            await asyncio.sleep(HEARTBEAT_EVERY)

    def _result(self, database: Database, edition: Edition, engine: Engine | Coordinator) -> BatchResult:
        counts = items.counts(database, edition.id)
        spent = runs.spent(database, edition.batch, edition.name)
        ending = self.stop.ending
        if ending is None or not counts.left:
            ending = Ending.LIMIT if counts.left else Ending.FINISHED
        if engine.files_lost:
            self.say(f"{self.request.output} was moved or emptied meanwhile: the results in it were written anew")
        if engine.unshown is not None:
            self.say(f"Prefect could not show all of it: {engine.unshown}")
        return BatchResult(
            batch=edition.batch,
            edition=edition.name,
            ending=ending,
            reason="" if ending in (Ending.FINISHED, Ending.LIMIT) else self.stop.reason,
            total=counts.total,
            answered=counts.answered,
            failed=counts.failed,
            left=counts.left,
            ran=engine.ran,
            kinds=items.kinds(database, edition.id),
            tokens=spent.tokens,
            cost_usd=None if spent.unpriced and not spent.cost_usd else spent.cost_usd,
            unpriced=spent.unpriced,
            seconds=time.monotonic() - self._begun_at,
            results=str(self.request.output / RESULTS),
            errors=str(self.request.output / ERRORS),
            warnings=tuple(self._warnings),
            flow_run_id=self.flow_run_id,
        )


async def make_engine(
    request: BatchRequest,
    edition: Edition,
    database: Database,
    files: ResultFiles,
    *,
    meter: Meter,
    counts: Counts,
    stop: Stop,
    say: Callable[[str], None],
    across: Across | None,
    beat: Beat = editions.heartbeat,
    on_progress: OnProgress | None = None,
) -> Engine:
    """The engine of a batch, with the cooldowns that all batches share. Raises DatabaseError."""
    models: Sequence[ModelRef] = [model for policy in request.policies.values() for model in policy.models]
    names = await asyncio.to_thread(shared_names, request.form.agent, models)
    accesses = await asyncio.to_thread(askable, request.form.agent, models)
    cooldowns = SharedCooldowns(database, names, asks_first=accesses)
    await cooldowns.refresh()
    return Engine(
        request,
        edition,
        database,
        files,
        cooldowns=cooldowns,
        probes=Probes(accesses, cooldowns, say),
        meter=meter,
        counts=counts,
        stop=stop,
        across=across,
        beat=beat,
        on_progress=on_progress,
    )


async def _meter(database: Database, edition: Edition) -> Meter:
    spent = await database.apart(runs.spent, edition.batch, edition.name)
    return Meter(spent.cost_usd, spent.tokens)


def require_known(database: Database, request: BatchRequest) -> None:
    """Refuse to begin anew where the results are those of an edition that the history has lost: all of it would be
    bought again. Raises UsageError, PlaceError, DatabaseError."""
    name = check_output(request.output, request.name).get("edition")
    if isinstance(name, str) and not editions.exists(database, request.name, name):
        raise UsageError(
            f"the history has no edition {name} of batch {request.name}, whose results are in {request.output}",
            hint="`atomic-flows history rebuild` brings it back; --new begins another one, and asks all again",
            batch=request.name,
            edition=name,
        )


def broken(edition: Edition, error: AtomicError) -> BatchBroken:
    """The error of a batch that had begun: unlike its cause it does not say that nothing was spent."""
    hint = f"{error.hint}; then the same command goes on" if error.hint else "the same command goes on"
    return BatchBroken(error.message, hint=hint, **{**error.fields, "batch": edition.batch, "edition": edition.name})


def load(database: Database, edition: Edition, request: BatchRequest) -> tuple[ResultFiles, Counts, Loaded]:
    """Bring the edition in line with the input, and the results files in line with the edition. Raises UsageError where
    the input has changed, PlaceError, RecordError, DatabaseError."""
    if request.checked.changed():
        raise changed(request)
    asked = request.asked
    loaded = loading.load(
        database,
        edition,
        rows_of(request),
        retry_failed=asked.retry_failed,
        redo=asked.redo,
        fingerprint=origin_of(request),
    )
    ended = items.results(database, edition.id)
    files = ResultFiles.begin(request.output, edition.batch, edition.name, ended)
    return files, items.counts(database, edition.id), loaded


def of_loading(loaded: Loaded, counts: Counts) -> str:
    """What an edition that goes on has to do, in words; empty where nothing is to be said."""
    told = {
        "answered": counts.answered,
        "failed before": counts.failed,
        "changed and run again": loaded.changed,
        "run again as asked": loaded.again,
        "new": loaded.new,
        "no longer in the input": loaded.gone,
        "to do": counts.left,
    }
    return ", ".join(f"{n} {what}" for what, n in told.items() if n)


async def _finish(database: Database, edition: Edition, reason: str) -> None:
    """End the edition for this process. What keeps it from that is left to whoever begins it next."""
    try:
        await asyncio.shield(database.apart(editions.finish, edition, reason=reason))
    except AtomicError:
        return
