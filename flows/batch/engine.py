"""An edition while it is carried out: items begin as slots free up, until nothing is left or somebody ends it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from atomic.processes import Steady
from atomic.providers import key_check
from atomic.runner import RunAttempt
from atomic.session import masker_for
from atomic.session import run_attempt as run_session
from atomic.verdict.facts import Status
from flows.batch.across import Across
from flows.batch.budget import Meter
from flows.batch.endings import Endings, Outcome
from flows.batch.facts import BatchProgress, BatchRequest, Ending
from flows.batch.feed import Feed
from flows.batch.items import Ready
from flows.batch.probes import Probes
from flows.batch.results import ResultFiles
from flows.batch.slots import Slots
from flows.batch.stopping import How, Stop
from flows.batch.streak import Streak, after, broken
from flows.batch.tracking import Pace
from flows.batch.work import Means, Work
from flows.cooldowns import SharedCooldowns
from flows.database import HEARTBEAT_EVERY, Control, Counts, Database, Edition, editions, items
from flows.history.copying import note_running

SHARD_SIZE = 200  # items: as many task runs as one page of Prefect's UI shows at once
PACE_WINDOW = 300.0  # seconds over which a batch's own rate is told
COUNT_EVERY = 5.0  # seconds between two counts of what is parked
MOST_UNWRITTEN = 64  # items that have ended and wait to be written, before no more begin: many are written at once

OnProgress = Callable[[BatchProgress], None]


Attempts = Callable[[str], RunAttempt]

Beat = Callable[[Database, Edition], Control]


def _sessions(_: str) -> RunAttempt:
    return run_session


@dataclass(slots=True)
class Shard:
    """A slice of the edition. Whoever opens it calls ``work`` once, in the flow run that it is to belong to."""

    engine: Engine
    number: int
    first: Ready
    fed: asyncio.Event = field(default_factory=asyncio.Event)  # it takes no more items
    begun: bool = False
    answered: int = 0
    failed: int = 0

    async def work(self, attempts: Attempts = _sessions, *, flow_run_id: str | None = None) -> None:
        """Carry out the first item and those that come after it, until all have ended. ``attempts`` gives what carries
        out the attempts of an item."""
        self.begun = True
        await self.engine.work_on(self, attempts, flow_run_id)


OpenShard = Callable[[Shard], Awaitable[None]]


async def directly(shard: Shard) -> None:
    """A shard without Prefect."""
    await shard.work()


class Engine:
    """Carries one edition out, once."""

    def __init__(
        self,
        request: BatchRequest,
        edition: Edition,
        database: Database,
        files: ResultFiles,
        *,
        cooldowns: SharedCooldowns,
        probes: Probes,
        meter: Meter,
        counts: Counts,
        stop: Stop,
        across: Across | None = None,
        beat: Beat = editions.heartbeat,
        on_progress: OnProgress | None = None,
    ) -> None:
        """``counts`` are those after loading, ``meter`` has what was spent before; ``beat`` says every second that this
        process lives, and returns what is asked of it."""
        self.request = request
        self.edition = edition
        self.stop = stop
        self.sessions = Pace()
        self.ran = 0
        self.begun = False  # an item has begun
        self.unshown: Exception | None = None  # why a shard could not be opened
        self.files_lost = False  # somebody moved or removed the results files, and they were written anew
        self._database = database
        self._cooldowns = cooldowns
        self._probes = probes
        self._meter = meter
        self._counts = counts
        self._on_progress = on_progress
        self._beat = beat
        self._slots = Slots(request.asked.concurrency, request.settings.batch.shares, on_change=self._change)
        self._endings = Endings(database, edition, files)
        self._across = across
        if across is not None:
            across.may_ask = lambda: not self._slots.paused
        self._feed = Feed(request, edition, database, self._slots, cooldowns, self._give_up)
        self._means = Means(
            store=request.store,
            slots=self._slots,
            across=across,
            cooldowns=cooldowns,
            meter=meter,
            prices=request.form.catalog if request.budget.cost_usd else None,
            key_is_bad=key_check(request.form.agent),
            park=self._feed.park,
            spent=self._check_budget,
            session_ended=lambda: self.sessions.tick(time.monotonic()),
        )
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._works: dict[int, Work] = {}
        self._unwritten: set[asyncio.Task[None]] = set()  # of items that were not begun
        self._noted: set[str] = set()  # runs at work that the history knows of
        self._pace = Pace(PACE_WINDOW)
        self._streak = Streak()
        self._begun_at = time.monotonic()
        self._failure: BaseException | None = None
        self._parked = counts.parked
        self._counted_at = 0.0

    async def carry_out(self, open_shard: OpenShard = directly) -> None:
        """To the end, whatever ends it; then ``stop`` says why it ended before its time. A cancel stops what is live
        and is passed on. Raises DatabaseError, EditionLost, PlaceError, RecordError, when nothing lives any more."""
        steady = Steady()
        loop = asyncio.get_running_loop()
        self._check_budget()
        self.stop.listen(self._end)
        writing = loop.create_task(self._guarded(self._endings.run()))
        ticking = loop.create_task(self._guarded(self._tick()))
        shards = loop.create_task(self._guarded(self._open_shards(open_shard)))
        try:
            await asyncio.wait([shards])
        except asyncio.CancelledError:
            steady.cancelled = True
            self.stop(Ending.STOPPED, "now", "it was cancelled")
        await steady.wait(shards, None)
        for task in [*self._tasks.values(), *self._unwritten]:
            await steady.wait(task, None)
        self._endings.close()
        await steady.wait(writing, None)
        ticking.cancel()
        await steady.wait(ticking, None)
        await self._probes.close()
        if self._failure is not None:
            raise self._failure
        await self._feed.give_back()
        await self._keep_files()
        if steady.cancelled:
            raise asyncio.CancelledError

    async def work_on(self, shard: Shard, attempts: Attempts, flow_run_id: str | None) -> None:
        """Begin the shard's items in this task's context, and wait for them. What fails ends the batch."""
        await self._guarded(self._feed_shard(shard, attempts, flow_run_id))

    async def _feed_shard(self, shard: Shard, attempts: Attempts, flow_run_id: str | None) -> None:
        own: list[asyncio.Task[None]] = []
        ready: Ready | None = shard.first
        try:
            taken = 0
            while ready is not None:
                taken += 1
                if self._feed.closed:  # while the shard was being opened
                    self._feed.put_back(ready)
                    break
                own.append(self._begin(ready, shard, attempts(ready.item.custom_id), flow_run_id))
                ready = await self._feed.next(self._active) if taken < SHARD_SIZE else None
        finally:
            shard.fed.set()
            if own:
                await asyncio.wait(own)

    def progress(self) -> BatchProgress:
        """How the batch stands."""
        counts, now = self._counts, time.monotonic()
        queued = 0 if self._across is None else self._across.waiting
        running = self._slots.running - queued
        parked = max(self._parked, len(self._feed.suspended))
        pending = max(0, counts.left - running - parked)
        rate = self._pace.rate(now)
        state = "ending" if self.stop.how is not None else "paused" if self._slots.paused else "running"
        return BatchProgress(
            batch=self.edition.batch,
            edition=self.edition.name,
            state=state,
            total=counts.total,
            answered=counts.answered,
            failed=counts.failed,
            running=running,
            parked=parked,
            queued=queued,
            pending=pending,
            per_minute=None if rate is None else rate * 60,
            seconds_left=counts.left / rate if rate else None,
            cost_usd=self._meter.cost_usd,
            tokens=self._meter.tokens,
            seconds=now - self._begun_at,
            waiting_until=self._feed.waiting_until,
        )

    async def _open_shards(self, open_shard: OpenShard) -> None:
        opened: set[asyncio.Task[None]] = set()
        number = 0
        loop = asyncio.get_running_loop()
        try:
            while True:
                self._feed.shard = number = number + 1
                first = await self._feed.next(self._active)
                if first is None:
                    return
                shard = Shard(self, number, first)
                task = loop.create_task(self._open(open_shard, shard))
                opened.add(task)
                task.add_done_callback(opened.discard)
                await shard.fed.wait()
        finally:
            if opened:
                await asyncio.wait(opened)

    async def _open(self, open_shard: OpenShard, shard: Shard) -> None:
        """Open a shard. Where that cannot be done, its items are carried out all the same: what only shows them must
        not end a night's work."""
        try:
            await open_shard(shard)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is not the items': theirs are kept by themselves
            self.unshown = self.unshown or error
        if not shard.begun:
            await shard.work()

    def _begin(
        self, ready: Ready, shard: Shard, run_attempt: RunAttempt, flow_run_id: str | None
    ) -> asyncio.Task[None]:
        work = Work(ready, self._means, run_attempt)
        self.begun = True

        async def carry_out() -> None:
            try:
                outcome = await work.to_its_end(flow_run_id)
                if outcome is not None:
                    self._judge(outcome)
                    self._change()
                    await self._settle(outcome, shard)
            finally:
                del self._tasks[ready.item.id], self._works[ready.item.id]
                self._change()

        task = asyncio.get_running_loop().create_task(self._guarded(carry_out()))
        self._tasks[ready.item.id] = task
        self._works[ready.item.id] = work
        return task

    async def _settle(self, outcome: Outcome, shard: Shard | None = None) -> None:
        """Write what an item came to, and count it."""
        written = await self._endings.put(outcome)
        if not written or not outcome.decided:
            return
        answered = outcome.result.status is Status.ANSWERED
        counts = self._counts
        self._counts = Counts(
            pending=counts.left - 1,
            answered=counts.answered + answered,
            failed=counts.failed + (not answered),
        )
        if shard is not None:
            shard.answered += answered
            shard.failed += not answered
        self.ran += 1
        self._pace.tick(time.monotonic())

    async def _give_up(self, outcome: Outcome) -> None:
        """What is not begun is settled beside the rest, many at once."""
        self._judge(outcome)
        task = asyncio.get_running_loop().create_task(self._guarded(self._settle(outcome)))
        self._unwritten.add(task)
        task.add_done_callback(self._unwritten.discard)
        if len(self._unwritten) >= MOST_UNWRITTEN:
            await asyncio.wait(self._unwritten)

    def _judge(self, outcome: Outcome) -> None:
        """Halt the batch, if what items come to says that it should not go on: before the next one begins."""
        if not outcome.decided:
            return
        self._streak = after(self._streak, outcome.result.status, outcome.result.kind)
        why = broken(self._streak, self.request.asked.stop_after)
        if why is not None:
            self.stop(Ending.HALTED, "drain", why)

    def _active(self) -> int:
        """How many items are at work: neither parked, nor waiting for a retry or, as long as these are not too many,
        for being written."""
        unwritten = sum(work.over for work in self._works.values())
        at_work = sum(not (work.sleeping or work.over) for work in self._works.values())
        return at_work + max(0, unwritten - MOST_UNWRITTEN)

    def _change(self) -> None:
        self._feed.changed.set()

    def _check_budget(self) -> None:
        why = self.request.budget.spent(self._meter.cost_usd, self._meter.tokens)
        if why is not None:
            self.stop(Ending.BUDGET, "now" if self.request.asked.on_budget == "stop" else "finish", why)

    def _end(self, how: How) -> None:
        """What is to end, ends: see :data:`flows.batch.stopping.How`."""
        self._feed.closed = True
        self._slots.paused = False
        if how != "drain":
            self._slots.close()
            if self._across is not None:
                self._across.close()
        for item_id in list(self._tasks if how == "now" else self._feed.suspended):
            if not self._works[item_id].over:
                self._tasks[item_id].cancel()
        self._slots.open()

    async def _guarded(self, work: Awaitable[None]) -> None:
        """Work whose failure ends the batch."""
        try:
            await work
        except asyncio.CancelledError:
            pass  # it was ended, by us
        except BaseException as error:  # noqa: BLE001 - raised when nothing lives any more
            self._failure = self._failure or error
            self.stop(Ending.STOPPED, "now", str(error))

    async def _tick(self) -> None:
        """Every second: say that this process lives, hear what is asked, learn of cooldowns, tell how it stands."""
        while True:
            self._obey(await self._database.apart(self._beat, self.edition))
            await self._cooldowns.refresh()
            self._probes.look()
            await self._note_running()
            await self._keep_files()
            now = time.monotonic()
            if self._parked and now - self._counted_at >= COUNT_EVERY:
                self._counted_at = now
                self._parked = (await self._database.apart(items.counts, self.edition.id)).parked
            if self._on_progress is not None:
                with contextlib.suppress(Exception):  # whoever watches a batch must not break it
                    self._on_progress(self.progress())
            await asyncio.sleep(HEARTBEAT_EVERY)

    async def _keep_files(self) -> None:
        self.files_lost |= not await self._endings.keep_files()

    async def _note_running(self) -> None:
        """Let the history know of runs that take longer than a moment; the others it has when they end."""
        at_work = {work.run_id for work in self._works.values() if work.run_id is not None}
        new = sorted(at_work - self._noted)
        self._noted = at_work
        if new:
            masker = masker_for(self.request.form.agent)
            await self._database.apart(note_running, self.request.store, new, masker)

    def _obey(self, control: Control) -> None:
        if control == "stop":
            self.stop(Ending.STOPPED, "now", "somebody asked it to stop")
        elif control == "drain":
            self.stop(Ending.DRAINED, "drain", "somebody asked it to end with what was at work")
        elif self.stop.how is None and self._slots.paused != (control == "pause"):
            self._slots.paused = control == "pause"
            self._slots.open()
