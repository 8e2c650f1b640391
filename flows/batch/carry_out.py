"""A batch from its check to its end: recover, preflight, begin the edition, carry it out, say what it came to."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Mapping, Sequence
from typing import Any

from atomic.errors import AtomicError, BatchBroken, DatabaseError, PlaceError, RecordError, UsageError
from atomic.models import ModelRef
from atomic.recovery import Recovered
from flows.batch.across import Across
from flows.batch.budget import Meter
from flows.batch.engine import Engine, OpenShard, directly
from flows.batch.facts import BatchProgress, BatchRequest, BatchResult, Ending, Notice, OnBatchEvent
from flows.batch.items import changed, origin_of, rows_of
from flows.batch.preflight import preflight
from flows.batch.probes import Probes, askable
from flows.batch.results import ERRORS, RESULTS, ResultFiles, check_output
from flows.batch.stopping import Stop
from flows.batch.webhook import send, wanted
from flows.cooldowns import SharedCooldowns, shared_names
from flows.database import Counts, Database, Edition, Loaded, editions, items, loading, runs
from flows.database.runs import Recorded
from flows.unsettled import recover_and_note


class BatchRun:
    """One call of a batch. ``stop`` ends it before its time, from a signal's handler as well; ``result`` is there
    afterwards."""

    def __init__(self, request: BatchRequest, on_event: OnBatchEvent | None = None) -> None:
        self.request = request
        self.stop = Stop()
        self._engine: Engine | None = None
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

    async def to_its_end(self, open_shard: OpenShard = directly, across: Across | None = None) -> BatchResult:
        """Carry it out. ``across`` gives sessions their places where a limit of all machines is asked for.

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
        recovered = await recover_and_note(self.request.store, adopt=settings.adopt)
        self.request, said = await preflight(self.request)
        for text in said:
            self.say(text)
        database = await asyncio.to_thread(Database.open, settings.history.url, home=settings.home)
        try:
            with self.request.occupying():
                result = await self._edition(database, recovered, open_shard, across)
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
        self, database: Database, recovered: Recovered, open_shard: OpenShard, across: Across | None
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
            files, counts, loaded = await database.apart(load, edition, request)
            with contextlib.closing(files):
                if edition.resumed and (what := of_loading(loaded, counts)):
                    self.say(f"edition {edition.name} goes on: {what}")
                engine = await self._make_engine(database, edition, files, counts, across)
                try:
                    await engine.carry_out(open_shard)
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
        request = self.request
        models: Sequence[ModelRef] = [model for policy in request.policies.values() for model in policy.models]
        names = await asyncio.to_thread(shared_names, request.form.agent, models)
        accesses = await asyncio.to_thread(askable, request.form.agent, models)
        cooldowns = SharedCooldowns(database, names, asks_first=accesses)
        await cooldowns.refresh()
        spent = await database.apart(runs.spent, edition.batch, edition.name)
        engine = Engine(
            request,
            edition,
            database,
            files,
            cooldowns=cooldowns,
            probes=Probes(accesses, cooldowns, self.say),
            meter=Meter(spent.cost_usd, spent.tokens),
            counts=counts,
            stop=self.stop,
            across=across,
            on_progress=self._on_event,
        )
        self._engine = engine
        return engine

    def _result(self, database: Database, edition: Edition, engine: Engine) -> BatchResult:
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


def keep_recovered(database: Database, request: BatchRequest, recovered: Recovered) -> None:
    """Note in the history what the runs came to that a dead process of this batch left. Raises DatabaseError."""
    found = []
    for one in recovered.runs:
        if one.run.batch == request.name:
            folder = request.store.open(one.run.run_id)
            found.append(Recorded(one.run, [attempt.read() for attempt in folder.attempts()], one.folder))
    runs.record_runs(database, found)


async def _finish(database: Database, edition: Edition, reason: str) -> None:
    """End the edition for this process. What keeps it from that is left to whoever begins it next."""
    try:
        await asyncio.shield(database.apart(editions.finish, edition, reason=reason))
    except AtomicError:
        return
