"""Slots: so many at a time in all and of each provider, in turn, and nobody behind another provider's queue."""

from __future__ import annotations

import asyncio
import random

import pytest

from atomic.failures import FailureKind
from flows.batch.slots import Slots


class Sessions:
    """Sessions that hold a slot for a moment; how many there were at once."""

    def __init__(self, slots: Slots) -> None:
        self.slots = slots
        self.most = 0
        self.most_of: dict[str | None, int] = {}
        self.order: list[str] = []
        self._now: dict[str | None, int] = {}

    async def one(self, provider: str | None, name: str = "", moment: float = 0.002) -> None:
        await self.slots.acquire(provider)
        self.order.append(name)
        self._now[provider] = self._now.get(provider, 0) + 1
        self.most_of[provider] = max(self.most_of.get(provider, 0), self._now[provider])
        self.most = max(self.most, sum(self._now.values()))
        try:
            await asyncio.sleep(moment)
        finally:
            self._now[provider] -= 1
            self.slots.release(provider)


async def test_neither_the_whole_nor_a_share_is_passed() -> None:
    slots = Slots(4, {"a": 2}, spacing=0)
    sessions = Sessions(slots)
    rng = random.Random(1)
    await asyncio.gather(*(sessions.one(rng.choice(["a", "b", None])) for _ in range(60)))
    assert sessions.most == 4
    assert sessions.most_of["a"] == 2
    assert slots.running == 0
    assert slots.free == 4


async def test_nobody_waits_behind_another_providers_queue() -> None:
    slots = Slots(4, {"a": 1}, spacing=0)
    sessions = Sessions(slots)
    queue = [sessions.one("a", "a", 0.05) for _ in range(3)]
    await asyncio.gather(*queue, sessions.one("b", "b"))
    assert sessions.order[1] == "b"


async def test_who_has_waited_longest_comes_first() -> None:
    slots = Slots(1, spacing=0)
    sessions = Sessions(slots)
    await asyncio.gather(*(sessions.one("a", str(n)) for n in range(8)))
    assert sessions.order == [str(n) for n in range(8)]


async def test_a_rate_limit_halves_the_share_and_answers_bring_it_back() -> None:
    slots = Slots(8, spacing=0)
    for _ in range(8):
        await slots.acquire("a")
    slots.told("a", FailureKind.RATE_LIMIT, started_at=asyncio.get_running_loop().time())
    assert slots.share("a").allowed == 4
    assert slots.share("b").allowed == 8
    for _ in range(8):
        slots.release("a")
    assert slots.room("a")
    for _ in range(4):
        await slots.acquire("a")
    assert not slots.room("a")
    assert slots.room("b")
    for _ in range(30):
        slots.told("a", None, started_at=0)
    assert slots.share("a").allowed == 8


async def test_paused_ones_wait_and_go_on() -> None:
    slots = Slots(2, spacing=0)
    slots.paused = True
    waiting = asyncio.ensure_future(slots.acquire("a"))
    await asyncio.sleep(0.01)
    assert not waiting.done()
    assert not slots.room("b")
    slots.paused = False
    slots.open()
    await waiting
    assert slots.running == 1


async def test_when_it_is_shut_everybody_is_refused() -> None:
    slots = Slots(1, spacing=0)
    await slots.acquire("a")
    waiting = asyncio.ensure_future(slots.acquire("a"))
    await asyncio.sleep(0)
    slots.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    with pytest.raises(asyncio.CancelledError):
        await slots.acquire("b")
    slots.release("a")
    assert slots.running == 0


async def test_a_cancelled_one_leaves_its_place() -> None:
    slots = Slots(1, spacing=0)
    await slots.acquire("a")
    gone = asyncio.ensure_future(slots.acquire("a"))
    next_one = asyncio.ensure_future(slots.acquire("a"))
    await asyncio.sleep(0)
    gone.cancel()
    slots.release("a")
    await next_one
    slots.release("a")
    assert slots.running == 0


async def test_a_cancel_that_meets_its_turn_gives_the_slot_back() -> None:
    slots = Slots(1, spacing=0)
    await slots.acquire("a")
    turn = asyncio.ensure_future(slots.acquire("a"))
    await asyncio.sleep(0)
    slots.release("a")  # its turn has come, and it has not heard of it
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert slots.running == 0


async def test_starts_are_spaced() -> None:
    slots = Slots(8, spacing=0.02)
    starts = [asyncio.ensure_future(slots.acquire("a")) for _ in range(3)]
    seen = []
    while slots.running < 3:
        await asyncio.sleep(0)
        if slots.running not in seen:
            seen.append(slots.running)
    assert seen == [1, 2, 3]  # never two at the same moment
    await asyncio.gather(*starts)
