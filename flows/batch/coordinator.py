"""An edition whose shards are carried out by workers of a pool: opened as there is room, watched, and ended with it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from atomic.processes import Steady, boot_id
from flows.batch.budget import Meter
from flows.batch.engine import PACE_WINDOW, SHARD_SIZE, OnProgress
from flows.batch.facts import BatchProgress, BatchRequest, Ending
from flows.batch.gathering import Gathering
from flows.batch.pool import Live, Pool, PoolAway, Seen, ShardsOn, Share, next_share, size_of
from flows.batch.recovered import keep_recovered
from flows.batch.results import ResultFiles
from flows.batch.shard_form import form_of
from flows.batch.stopping import How, Stop
from flows.batch.streak import Streak, after, broken
from flows.batch.tracking import Pace
from flows.database import (
    HEARTBEAT_EVERY,
    Control,
    Counts,
    Database,
    Edition,
    ItemResult,
    ShardState,
    editions,
    items,
    runs,
    shards,
)
from flows.database.ownership import is_gone
from flows.unsettled import recover_and_note

LOOK_EVERY = 3.0  # seconds between two looks at the flow runs of shards; a look costs the server some 10 ms
SPENT_EVERY = 5.0  # seconds between two sums of what was spent
UNTAKEN_AFTER = 60.0  # seconds without a worker after which that is said: workers look every 10 to 15
SILENT = 10.0  # seconds after which a worker elsewhere whose flow run has ended is believed to have ended, too
STOPPING_LIMIT = 120.0  # seconds that shards have to stop: their agents get some ten, a machine that swaps more
MOST_FUTILE = 3  # shards in a row that came to nothing: the workers cannot carry this batch out


@dataclass(slots=True)
class _Open:
    """A shard that is open."""

    share: Share
    flow_run_id: str
    opened_at: float  # monotonic
    taken: bool = False
    state: ShardState | None = None
    seen: Seen | None = None

    @property
    def live(self) -> Live:
        """What of the batch it has."""
        return Live(self.share.most if self.state is None else self.state.room, self.share.sessions)


class Coordinator:
    """Has one edition carried out, once: as :class:`flows.batch.engine.Engine` does it itself."""

    def __init__(
        self,
        request: BatchRequest,
        edition: Edition,
        database: Database,
        files: ResultFiles,
        *,
        pool: Pool,
        asked: ShardsOn,
        meter: Meter,
        counts: Counts,
        stop: Stop,
        say: Callable[[str], None],
        on_progress: OnProgress | None = None,
    ) -> None:
        """``counts`` are those after loading, ``meter`` has what was spent before; ``say`` tells a person."""
        self.request = request
        self.edition = edition
        self.stop = stop
        self.ran = 0
        self.begun = False
        self.unshown: Exception | None = None
        self.files_lost = False
        self._database = database
        self._files = files
        self._pool = pool
        self._shards = asked.shards
        self._size = size_of(counts.left, self._shards, SHARD_SIZE)
        self._meter = meter
        self._counts = counts
        self._say = say
        self._on_progress = on_progress
        self._open: dict[int, _Open] = {}
        self._number = 0
        self._given = 0  # items that ended shards have had, and open ones may have
        self._futile = 0
        self._paused = False
        self._asked: How | None = None  # what the shards were told
        self._stopping_at = 0.0
        self._changed = asyncio.Event()
        self._waiting_until: float | None = None
        self._pace = Pace(PACE_WINDOW)
        self._streak = Streak()
        self._begun_at = time.monotonic()
        self._looked_at = self._summed_at = float("-inf")
        self._away = self._untaken_said = False

    async def carry_out(self) -> None:
        """To the end, whatever ends it; then ``stop`` says why it ended before its time. A cancel stops the shards and
        is passed on. Raises DatabaseError, EditionLost, PlaceError, RecordError: then they end by themselves."""
        steady = Steady()
        self.stop.listen(self._end)
        work = asyncio.get_running_loop().create_task(self._carry_out())
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError:
            steady.cancelled = True
            self.stop(Ending.STOPPED, "now", "it was cancelled")
        await steady.wait(work, None)
        await work
        if steady.cancelled:
            raise asyncio.CancelledError

    def progress(self) -> BatchProgress:
        """How the batch stands."""
        counts, now = self._counts, time.monotonic()
        running = min(counts.running, sum(one.share.sessions for one in self._open.values() if one.taken))
        rate = self._pace.rate(now)
        return BatchProgress(
            batch=self.edition.batch,
            edition=self.edition.name,
            state="ending" if self.stop.how is not None else "paused" if self._paused else "running",
            total=counts.total,
            answered=counts.answered,
            failed=counts.failed,
            running=running,
            parked=counts.parked,
            pending=counts.left - running - counts.parked,
            per_minute=None if rate is None else rate * 60,
            seconds_left=counts.left / rate if rate else None,
            cost_usd=self._meter.cost_usd,
            tokens=self._meter.tokens,
            seconds=now - self._begun_at,
            waiting_until=self._waiting_until,
        )

    async def _carry_out(self) -> None:
        gathering = await self._database.apart(Gathering, self.edition, self._files)
        self._check_budget()
        while True:
            self._obey(await self._database.apart(editions.heartbeat, self.edition))
            await self._tell_shards()
            await self._look_after()
            self._take(await self._database.apart(lambda _: gathering.gather()))
            self.files_lost |= not await self._database.apart(lambda _: gathering.keep_files())
            self._counts = await self._database.apart(items.counts, self.edition.id)
            await self._sum_up()
            over = not await self._open_more() and not self._open
            if self._on_progress is not None:
                with contextlib.suppress(Exception):  # whoever watches a batch must not break it
                    self._on_progress(self.progress())
            if over:
                return
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(HEARTBEAT_EVERY):
                    await self._changed.wait()

    def _end(self, how: How) -> None:  # noqa: ARG002 - the next round tells it to the shards
        self._changed.set()

    def _obey(self, control: Control) -> None:
        if control == "stop":
            self.stop(Ending.STOPPED, "now", "somebody asked it to stop")
        elif control == "drain":
            self.stop(Ending.DRAINED, "drain", "somebody asked it to end with what was at work")
        else:
            self._paused = control == "pause"

    async def _tell_shards(self) -> None:
        """Hand on how the batch ends. What ``finish`` is more than ``drain``, shards know from the budget."""
        how = self.stop.how
        if how is None or how == self._asked:
            return
        self._asked = how
        if how == "now":
            self._stopping_at = time.monotonic()
        await self._database.apart(editions.ask_shards, self.edition, "stop" if how == "now" else "drain")
        untaken = [number for number in self._open if await self._database.apart(shards.withdraw, self.edition, number)]
        with contextlib.suppress(PoolAway):  # a worker that takes one up all the same finds it ended
            await self._pool.cancel([self._open[number].flow_run_id for number in untaken])
        for number in untaken:
            await self._close(number, "")

    def _take(self, ended: list[ItemResult]) -> None:
        for one in ended:
            self.ran += 1
            self._pace.tick(time.monotonic())
            self._streak = after(self._streak, one.status, one.kind)
            why = broken(self._streak, self.request.asked.stop_after)
            if why is not None:
                self.stop(Ending.HALTED, "drain", why)

    async def _sum_up(self) -> None:
        now = time.monotonic()
        if now - self._summed_at < SPENT_EVERY:
            return
        self._summed_at = now
        spent = await self._database.apart(runs.spent, self.edition.batch, self.edition.name)
        self._meter.at_least(spent.cost_usd, spent.tokens)
        self._check_budget()

    def _check_budget(self) -> None:
        why = self.request.budget.spent(self._meter.cost_usd, self._meter.tokens)
        if why is not None:
            self.stop(Ending.BUDGET, "now" if self.request.asked.on_budget == "stop" else "finish", why)

    async def _open_more(self) -> bool:
        """Open shards for what waits. Whether anything is left to be waited for."""
        if self.stop.how is not None:
            return False
        limit = self.request.asked.limit
        allowed = None if limit is None else max(0, limit - self._given)
        waiting = await self._database.apart(shards.waiting, self.edition, (self._shards + 1) * SHARD_SIZE)
        self._waiting_until = waiting.due if not self._open and not waiting.now else None
        while not self._paused:
            share = next_share(
                [one.live for one in self._open.values()],
                shards=self._shards,
                sessions=self.request.asked.concurrency,
                waiting=waiting.now,
                size=self._size,
                allowed=allowed,
            )
            if share is None or not await self._start(share):
                break
            allowed = None if allowed is None else allowed - share.most
        return bool(waiting.now or waiting.due is not None) and allowed != 0

    async def _start(self, share: Share) -> bool:
        self._number = number = self._number + 1
        edition = self.edition
        form = form_of(self.request, share, shards=self._shards)
        await self._database.apart(shards.open_one, edition, number, most=share.most, form=form)
        config = self.request.config
        parameters: Mapping[str, str | int | None] = {
            "batch": edition.batch,
            "edition": edition.name,
            "term": edition.term,
            "shard": number,
            "cwd": str(self.request.form.cwd),
            "config": None if config is None else str(config),
        }
        try:
            name = f"{edition.batch} · shard {number}"
            run = await self._pool.start(name, parameters)
        except PoolAway as error:
            await self._database.apart(shards.reap, edition, number)
            self._is_away(error)
            return False
        self._away = False
        self._given += share.most
        self._open[number] = _Open(share, run, time.monotonic())
        return True

    async def _look_after(self) -> None:
        """See how the open shards stand, and close those that have ended or died."""
        if not self._open:
            return
        found = await self._database.apart(shards.opened, self.edition, list(self._open))
        for number, state in found.items():
            one = self._open[number]
            one.state, one.taken = state, one.taken or state.owner is not None
            self.begun |= one.taken
        now = time.monotonic()
        if now - self._looked_at >= LOOK_EVERY:
            self._looked_at = now
            await self._look_at_prefect()
        late = self._asked == "now" and now - self._stopping_at > STOPPING_LIMIT
        for number, one in list(self._open.items()):
            ended = late or (one.state is not None and has_ended(one.state, one.seen))
            # A worker that takes it up in this moment has it.
            if ended and (one.taken or await self._database.apart(shards.withdraw, self.edition, number)):
                await self._close(number, _why(one))
        if late:
            self._say("shards that did not stop in time were given up: look at their workers")
        untaken = bool(self._open) and not any(one.taken for one in self._open.values())
        if untaken and not self._untaken_said:
            since = min(one.opened_at for one in self._open.values())
            if now - since > UNTAKEN_AFTER and all(one.seen is None or one.seen.waits for one in self._open.values()):
                self._untaken_said = True
                pool = self._pool.work_pool
                self._say(f"no worker has taken up a shard yet: is one at work? prefect worker start --pool {pool}")

    async def _look_at_prefect(self) -> None:
        try:
            seen = await self._pool.look([one.flow_run_id for one in self._open.values()])
        except PoolAway as error:
            self._is_away(error)
            return
        self._away = False
        gone = Seen(ended=True, waits=False, failed=True, message="its flow run was deleted")
        for one in self._open.values():
            one.seen = seen.get(one.flow_run_id, gone)

    async def _close(self, number: int, why: str) -> None:
        """Take a shard's items back. ``why`` it failed, in words; empty where it ended as it should."""
        one = self._open[number]
        if one.taken and one.state is not None and not one.state.ended:
            # Its worker died: what it has left on this machine is ended before another one takes its items up.
            recovered = await recover_and_note(self.request.store, adopt=self.request.settings.adopt)
            await self._database.apart(keep_recovered, self.request, recovered)
        ended = await self._database.apart(shards.reap, self.edition, number, again=self.stop.how is None)
        del self._open[number]
        self._given -= one.share.most - ended
        if ended or not why:
            self._futile = 0
        else:
            self._futile += 1
            if self._futile >= MOST_FUTILE:
                self.stop(Ending.HALTED, "drain", f"{MOST_FUTILE} shards in a row came to nothing: {why}")

    def _is_away(self, error: PoolAway) -> None:
        if not self._away:
            self._away = True
            self._say(f"Prefect starts no shard now ({error}); those at work go on, and it is asked again")


def has_ended(state: ShardState, seen: Seen | None) -> bool:
    """Whether nobody is at work on a shard any more, nor will be. Pure, but for a look at a process of this machine."""
    over = seen is not None and seen.ended
    if state.ended or state.owner is None:
        return state.ended or over
    return is_gone(state.owner, silence=state.silence) or (over and _elsewhere(state) and state.silence > SILENT)


def _elsewhere(state: ShardState) -> bool:
    return state.owner is not None and state.owner.boot_id != boot_id()


def _why(one: _Open) -> str:
    """Why it came to nothing, if it did; empty where it ended as it should."""
    if one.state is not None and one.state.ended:
        return one.state.reason
    if one.seen is not None and one.seen.failed:
        return one.seen.message or "its flow run failed"
    return "its worker died"
