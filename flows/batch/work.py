"""One item of a batch while it is carried out: its run, what it needs a slot for, and what it waits for without one."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from atomic.errors import AtomicError, PlaceError, PromptError, UsageError, WorkspaceError
from atomic.failures import FailureKind
from atomic.models import ModelCatalog, ModelRef
from atomic.policy import End
from atomic.record import AttemptRecord, RunStore
from atomic.runner import (
    AttemptEnded,
    AttemptProgress,
    AttemptStarted,
    KeyIsBad,
    RunAttempt,
    RunEnded,
    RunEvent,
    RunResult,
    RunStarted,
    execute,
)
from atomic.runner.recording import recorded_result
from atomic.session import AttemptSpec, Progress, masker_for
from atomic.verdict.facts import Status, Usage
from flows.batch.across import Across
from flows.batch.budget import NOTHING, Meter, together
from flows.batch.endings import Outcome
from flows.batch.items import Ready
from flows.batch.slots import Slots
from flows.cooldowns import RunCooldowns, SharedCooldowns
from flows.database import ClaimedItem
from flows.history.copying import head_of

# Seconds that a run waits in its place: the delay before a retry. For longer the item is parked.
PARK_FROM = 10.0

OnProgress = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Means:
    """What all items of a batch share. ``park`` puts an item aside until a time and returns when its turn has come;
    ``spent`` is told that the meter has moved; ``session_ended`` that a session has. ``prices`` is there where dollars
    are to be watched while sessions live."""

    store: RunStore
    slots: Slots
    across: Across | None
    cooldowns: SharedCooldowns
    meter: Meter
    prices: ModelCatalog | None
    key_is_bad: KeyIsBad | None
    park: Callable[[ClaimedItem, float, FailureKind | None], Awaitable[None]]
    spent: Callable[[], None]
    session_ended: Callable[[], None]


class Work:
    """One item's run."""

    def __init__(self, ready: Ready, means: Means, run_attempt: RunAttempt) -> None:
        self.sleeping = False  # it needs no slot now
        self.over = False  # nothing of it runs any more
        self._item = ready.item
        self._request = ready.run
        self._provider = ready.provider
        self._expected = True
        means.slots.expect(ready.provider)
        self._means = means
        self._run_attempt = run_attempt
        self._cooldowns = RunCooldowns(means.cooldowns)
        self._before = NOTHING  # what the attempts that have ended used
        self._model: ModelRef | None = None
        self._ended: RunEnded | None = None
        self.run_id: str | None = None  # of the run that is at work

    async def to_its_end(self, flow_run_id: str | None) -> Outcome | None:
        """Carry the run out. None where nothing came of it that could be written. A cancelled run is an outcome. Raises
        PlaceError, RecordError where the record cannot be written."""
        try:
            result = await execute(
                self._request,
                store=self._means.store,
                run_attempt=self._attempt,
                on_event=self._hear,
                flow_run_id=flow_run_id,
                cooldowns=self._cooldowns,
                key_is_bad=self._means.key_is_bad,
                sleep=self._sleep,
            )
        except asyncio.CancelledError:
            return self._outcome() or await asyncio.to_thread(_answered_all_the_same, self._item, self._means.store)
        except UsageError as error:
            if isinstance(error, PlaceError):
                raise
            return Outcome(self._item, _failed(FailureKind.UNKNOWN, error.message))  # its key is held elsewhere
        finally:
            self.over = True
            self._unexpect()
            self._means.meter.ended(self._item.id, self._used())
        return self._outcome() or await asyncio.to_thread(_recorded, self._item, result, self._means.store)

    def _outcome(self) -> Outcome | None:
        ended = self._ended
        if ended is None:
            return None
        prompt = head_of(self._request.prompt, masker_for(self._request.agent))
        return Outcome(self._item, ended.result, ended.run, ended.attempts, prompt)

    def _used(self) -> Usage:
        return NOTHING if self._ended is None else self._ended.result.usage

    async def _attempt(self, spec: AttemptSpec, *, on_progress: OnProgress | None = None) -> AttemptRecord:
        provider = None if spec.model is None else spec.model.provider
        self._model = spec.model
        slots = self._means.slots
        self._unexpect()
        across = self._means.across
        await slots.acquire(provider)
        try:
            async with contextlib.nullcontext() if across is None else across.place():
                started_at = asyncio.get_running_loop().time()
                record = await self._run_attempt(spec, on_progress=on_progress)
            if record.verdict is not None:
                self._count(record.verdict.usage)  # before anybody else has the slot
            slots.told(provider, record.kind, started_at=started_at)
        finally:
            slots.release(provider)
            self._means.session_ended()
        return record

    async def _sleep(self, seconds: float) -> None:
        self.sleeping = True
        self._means.slots.open()
        try:
            if seconds <= PARK_FROM:
                await asyncio.sleep(seconds)
            else:
                last = self._cooldowns.last
                await self._means.park(self._item, time.time() + seconds, None if last is None else last.kind)
        finally:
            self.sleeping = False

    def _unexpect(self) -> None:
        if self._expected:
            self._expected = False
            self._means.slots.unexpect(self._provider)

    def _hear(self, event: RunEvent) -> None:
        if isinstance(event, AttemptProgress):
            self._count(event.progress.usage)
        elif isinstance(event, AttemptStarted):
            self._count(NOTHING)
        elif isinstance(event, AttemptEnded):
            self._cooldowns.last = event.verdict
            self._before = together(self._before, event.verdict.usage)
            self._count(NOTHING)
        elif isinstance(event, RunStarted):
            self.run_id = event.run_id
        elif isinstance(event, RunEnded):
            self.run_id = None
            self._ended = event

    def _count(self, usage: Usage) -> None:
        prices = self._means.prices
        if usage.cost_usd is None and usage.tokens and self._model is not None and prices is not None:
            cost = prices.cost(self._model, usage)
            usage = usage.model_copy(update={"cost_usd": cost})
        self._means.meter.live(self._item.id, together(self._before, usage))
        self._means.spent()


def _answered_all_the_same(item: ClaimedItem, store: RunStore) -> Outcome | None:
    """The outcome of an item whose run was cancelled when its answer was being put on record."""
    try:
        run = store.by_key(item.key)
        if run is None or run.status != "answered":
            return None
        return _recorded(item, recorded_result(store, run), store)
    except AtomicError:
        return None  # the next start finds it


def _recorded(item: ClaimedItem, result: RunResult, store: RunStore) -> Outcome:
    """The outcome of an item whose answer was on record."""
    try:
        folder = store.open(result.run_id)
        return Outcome(item, result, folder.read(), tuple(one.read() for one in folder.attempts()))
    except AtomicError:
        return Outcome(item, result)  # the answer counts, whatever became of its files since


def unfit(item: ClaimedItem, error: PromptError | WorkspaceError) -> Outcome:
    """The outcome of an item that cannot be begun any more."""
    return Outcome(item, _failed(FailureKind.INVALID_REQUEST, error.message))


def given_up(item: ClaimedItem, end: End, kind: FailureKind | None) -> Outcome:
    """The outcome of an item whose models cool down for longer than the batch waits; ``kind`` is why they do."""
    return Outcome(item, _failed(kind or end.kind or FailureKind.UNKNOWN, end.message))


def _failed(kind: FailureKind, message: str) -> RunResult:
    return RunResult(run_id="", status=Status.FAILED, kind=kind, message=message)
