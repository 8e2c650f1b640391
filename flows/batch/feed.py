"""Which item is next: claimed from the database as slots free up, so that memory holds a few, whatever the input."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace

from atomic.errors import PromptError, WorkspaceError
from atomic.failures import FailureKind
from atomic.policy import FallbackPolicy, Start, Wait, cooling_until, credential_key, model_key
from flows.batch.endings import Outcome
from flows.batch.facts import BatchRequest
from flows.batch.gate import all_wait, first_step
from flows.batch.items import Ready, item_of, run_of
from flows.batch.slots import Slots
from flows.batch.work import given_up, unfit
from flows.cooldowns import SharedCooldowns
from flows.database import ClaimedItem, Database, Edition, items

LEAST_CLAIMED = 8  # items at a time: a claim is a transaction, and more are claimed when half of them have begun
MOST_POLICIES = 32  # that are looked at before each claim; with more, what cools down is parked item by item
LOOK = 1.0  # seconds between two looks at what is due, where nothing else wakes the feed


class Feed:
    """The items of an edition, one after another. One caller at a time.

    Suspended runs, which were parked in their middle, come back by the same way: their items are claimed again when
    their time has come, and ``next`` wakes them instead of returning them.
    """

    def __init__(
        self,
        request: BatchRequest,
        edition: Edition,
        database: Database,
        slots: Slots,
        cooldowns: SharedCooldowns,
        give_up: Callable[[Outcome], Awaitable[None]],
    ) -> None:
        """``give_up`` writes what came of an item that is not begun."""
        self.changed = asyncio.Event()  # something may have become possible
        self.closed = False  # nothing new begins
        self.suspended: dict[int, asyncio.Future[None]] = {}
        self.waiting_until: float | None = None  # every policy waits for a cooldown
        self.shard = 0  # the one that is being fed
        self._request = request
        self._edition = edition
        self._database = database
        self._slots = slots
        self._cooldowns = cooldowns
        self._give_up = give_up
        self._wait_until = float("inf") if request.asked.deadline is None else request.asked.deadline
        self._policies = _different(request.policies.values())
        self._claimed: list[Ready] = []
        self._left = request.asked.limit  # items that may still begin; None: all
        self._dry = False  # the database has nothing that could be claimed before `_due`
        self._due: float | None = None

    async def next(self, active: Callable[[], int]) -> Ready | None:
        """The next item that may begin, when it may: while ``active`` ones are fewer than there are slots. None when no
        more will: nothing is left and nobody at work could still be parked, or it is closed. Raises DatabaseError,
        EditionLost."""
        while not self.closed:
            self.changed.clear()
            if active() < self._slots.most:
                ready = await self._pick()
                if ready is not None:
                    return ready
            if await self._claim():
                continue
            if (
                not self._claimed
                and not active()
                and not self.suspended
                and (self._left == 0 or (self._dry and self._due is None))
            ):
                return None
            await self._sleep()
        return None

    async def park(self, item: ClaimedItem, until: float, kind: FailureKind | None) -> None:
        """Put a run aside, and wait until its item has been claimed again. Raises CancelledError where the batch ends,
        DatabaseError, EditionLost."""
        if self.closed:
            raise asyncio.CancelledError
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.suspended[item.id] = turn
        try:
            await self._put_aside(item, until, kind)
            await turn
        finally:
            self.suspended.pop(item.id, None)

    def put_back(self, ready: Ready) -> None:
        """Take back an item that was not begun."""
        self._claimed.append(ready)

    async def give_back(self) -> None:
        """Release what was claimed and not begun. Raises DatabaseError, EditionLost."""
        given, self._claimed = [ready.item.id for ready in self._claimed], []
        if given:
            await self._database.apart(items.release, self._edition, given)

    async def _pick(self) -> Ready | None:
        """The first claimed item that may begin. Those whose models cool down are parked, or given up."""
        place = 0
        while place < len(self._claimed):
            ready = self._claimed[place]
            step = first_step(ready.run.policy, self._cooldowns, time.time(), self._wait_until)
            if isinstance(step, Start):
                provider = None if step.model is None else step.model.provider
                if self._slots.room(provider):
                    return replace(self._claimed.pop(place), provider=provider)
                place += 1
                continue
            del self._claimed[place]
            kind = self._cooled_for(ready)
            if isinstance(step, Wait):
                await self._put_aside(ready.item, step.until, kind)
                self._left = None if self._left is None else self._left + 1
            else:
                await self._give_up(given_up(ready.item, step, kind))
        return None

    async def _claim(self) -> bool:
        """Claim more, where that makes sense. Whether anything came of it."""
        now = time.time()
        due = self._due is not None and self._due <= now
        self.waiting_until = self._all_wait(now)
        enough = max(LEAST_CLAIMED, self._slots.most)
        wanted = 2 * enough - len(self._claimed) if len(self._claimed) < enough else 0
        if self._left is not None:
            wanted = min(wanted, max(self._left, len(self.suspended) if due else 0))
        blocked = self.waiting_until is not None or (self._dry and not due) or self._slots.free <= 0
        if blocked or wanted <= 0:
            return False
        found = await self._database.apart(items.claim, self._edition, wanted, shard=self.shard)
        self._dry = len(found) < wanted
        if self._dry or due:
            self._due = await self._database.apart(items.next_due, self._edition)
        surplus = []
        for item in found:
            turn = self.suspended.get(item.id)
            if turn is not None:
                if not turn.done():
                    turn.set_result(None)
            elif self._left == 0:
                surplus.append(item.id)
            else:
                await self._take(item)
        if surplus:
            await self._database.apart(items.release, self._edition, surplus)
        return len(found) > len(surplus)

    async def _take(self, item: ClaimedItem) -> None:
        said = item_of(item)
        try:
            if said.prompt_file is None and (said.workspace or self._request.workspace) == "shared":
                run = run_of(self._request, self._edition, item, said)
            else:
                run = await asyncio.to_thread(run_of, self._request, self._edition, item, said)
        except (PromptError, WorkspaceError) as error:
            await self._give_up(unfit(item, error))
            return
        if self._left is not None:
            self._left -= 1
        self._claimed.append(Ready(item, run))

    def _all_wait(self, now: float) -> float | None:
        if len(self._policies) > MOST_POLICIES:
            return None
        return all_wait(self._policies, self._cooldowns, now, self._wait_until)

    async def _put_aside(self, item: ClaimedItem, until: float, kind: FailureKind | None) -> None:
        until = min(until, self._wait_until)
        await self._database.apart(items.park, self._edition, item.id, until=until, kind=kind)
        self._due = until if self._due is None else min(self._due, until)

    def _cooled_for(self, ready: Ready) -> FailureKind | None:
        """Why the model that is free first cools down."""
        models = ready.run.policy.models
        if not models:
            return None
        first = min(models, key=lambda model: cooling_until(model, self._cooldowns))
        longest = max((model_key(first), credential_key(first)), key=lambda key: self._cooldowns.get(key, 0))
        return self._cooldowns.kind(longest)

    async def _sleep(self) -> None:
        """Until something has changed, or may be due."""
        try:
            async with asyncio.timeout(LOOK):
                await self.changed.wait()
        except TimeoutError:
            pass


def _different(policies: Iterable[FallbackPolicy]) -> list[FallbackPolicy]:
    """The policies, each once."""
    return list({id(policy): policy for policy in policies}.values())
