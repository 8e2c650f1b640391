"""Who may have a session now: so many in all, so many of each provider, and not all at the same moment."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping

from atomic.failures import FailureKind
from flows.batch.share import TOO_MUCH, Share, after_answer, after_limit

# Seconds between two starts: agents that start at the same moment collide over the lock file of their credentials,
# which each holds for two to three milliseconds (pi 0.73.1).
SPACING = 0.003


class Slots:
    """The slots of a batch. A session has one while it runs; whoever waits for a cooldown, or between two attempts, has
    none. Those that have waited longest come first, and nobody waits behind another provider's."""

    def __init__(
        self,
        most: int,
        shares: Mapping[str, int] | None = None,
        *,
        spacing: float = SPACING,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        """``most`` sessions in all, ``shares`` the most of some providers; ``on_change`` is told that there may be room
        where there was none."""
        self.most = most
        self.paused = False  # who asks now waits
        self.shut = False  # who asks now is refused
        self._given = dict(shares or {})
        self._shares: dict[str | None, Share] = {}
        self._spacing = spacing
        self._on_change = on_change
        self._in_use: Counter[str | None] = Counter()
        self._expected: Counter[str | None] = Counter()  # begun items whose first session has not asked yet
        self._waiting: list[tuple[str | None, asyncio.Future[None]]] = []
        self._next_start = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def running(self) -> int:
        """How many sessions run."""
        return self._in_use.total()

    def share(self, provider: str | None) -> Share:
        """A provider's share as it stands."""
        if provider not in self._shares:
            given = self._given.get(provider, self.most) if provider is not None else self.most
            self._shares[provider] = Share.of(min(given, self.most))
        return self._shares[provider]

    @property
    def free(self) -> int:
        """How many sessions could begin, whatever their provider."""
        return 0 if self.paused or self.shut else self.most - self.running - len(self._waiting) - self._expected.total()

    def room(self, provider: str | None) -> bool:
        """Whether a new item's session with this provider would begin about at once."""
        waiting = sum(one == provider for one, _ in self._waiting)
        taken = self._in_use[provider] + self._expected[provider] + waiting
        return self.free > 0 and taken < self.share(provider).allowed

    def expect(self, provider: str | None) -> None:
        """An item has begun that will ask for this provider."""
        self._expected[provider] += 1

    def unexpect(self, provider: str | None) -> None:
        """It is about to ask, or will not ask any more."""
        self._expected[provider] -= 1

    async def acquire(self, provider: str | None) -> None:
        """Wait for a slot. Raises CancelledError where none is given any more."""
        if self.shut:
            raise asyncio.CancelledError
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((provider, turn))
        self._grant()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.release(provider)
            else:
                self._waiting = [one for one in self._waiting if one[1] is not turn]
            raise

    def release(self, provider: str | None) -> None:
        """Give a slot back."""
        self._in_use[provider] -= 1
        self.open()

    def told(self, provider: str | None, kind: FailureKind | None, *, started_at: float) -> None:
        """What a session came to that still holds its slot: its provider's share follows. ``started_at`` is in the
        loop's time, ``kind`` None for an answer."""
        share = self.share(provider)
        if kind is None:
            self._shares[provider] = after_answer(share)
        elif kind in TOO_MUCH:
            now = asyncio.get_running_loop().time()
            in_use = self._in_use[provider]
            self._shares[provider] = after_limit(share, in_use=in_use, started_at=started_at, now=now)

    def open(self) -> None:
        """Let those that wait try again, and say that there may be room."""
        self._grant()
        self._on_change()

    def close(self) -> None:
        """Give no slot any more: whoever waits for one is refused."""
        self.shut = True
        waiting, self._waiting = self._waiting, []
        for _, turn in waiting:
            turn.cancel()

    def _grant(self) -> None:
        if self.paused or self.shut:
            return
        loop = asyncio.get_running_loop()
        for place in list(self._waiting):
            provider, turn = place
            if self.running >= self.most:
                return
            if self._in_use[provider] >= self.share(provider).allowed or turn.done():
                continue
            wait = self._next_start - loop.time()
            if wait > 0:
                if self._timer is None:
                    self._timer = loop.call_later(wait, self._timed)
                return
            self._next_start = loop.time() + self._spacing
            self._waiting.remove(place)
            self._in_use[provider] += 1
            turn.set_result(None)

    def _timed(self) -> None:
        self._timer = None
        self._grant()
