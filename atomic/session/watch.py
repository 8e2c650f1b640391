"""The bounds of a session: given the time and what the stream has told so far, is it to be stopped?"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from atomic.policy.facts import Limits
from atomic.verdict.facts import StopReason, Usage
from atomic.verdict.seen import AnnouncedWait, OpenTool, WaitKind

# Silences that are the provider's time and not the agent's: they may last as long as a tool.
_PROVIDERS_TIME = frozenset({WaitKind.COMPACTION, WaitKind.SUMMARY})


class Work(Protocol):
    """What the stream has told: the live side of a verdict's fold."""

    @property
    def turns(self) -> int: ...
    @property
    def settled(self) -> bool: ...
    @property
    def ended(self) -> bool: ...
    @property
    def announced_wait(self) -> AnnouncedWait | None: ...


@dataclass(slots=True)
class Watch:
    """Watches over one session. All times are seconds of one monotonic clock, so that no jump of the wall clock breaks
    a limit or hides one."""

    limits: Limits
    started: float
    heard: float | None = None  # when the stream last grew
    closed: float | None = None  # when the work was first seen to have closed, and nothing has begun since

    def grew(self, now: float) -> None:
        """The stream has grown."""
        self.heard = now

    def check(self, now: float, work: Work, tools: Collection[OpenTool], usage: Usage) -> StopReason | None:
        """Why the session is to be stopped now; None while it may go on. ``usage`` includes the message in flight."""
        if work.settled or work.ended:
            self.closed = now if self.closed is None else self.closed
            return StopReason.SETTLED if _over(now - self.closed, self.limits.settle) else None
        self.closed = None
        return self._spent(work.turns, usage) or self._late(now, work.announced_wait, tools)

    def _spent(self, turns: int, usage: Usage) -> StopReason | None:
        limits = self.limits
        if limits.turns and turns > limits.turns:
            return StopReason.TURNS
        if limits.tokens and usage.tokens >= limits.tokens:
            return StopReason.TOKENS
        if limits.cost_usd and usage.cost_usd is not None and usage.cost_usd >= limits.cost_usd:
            return StopReason.COST
        return None

    def _late(self, now: float, wait: AnnouncedWait | None, tools: Collection[OpenTool]) -> StopReason | None:
        limits = self.limits
        if _over(now - self.started, limits.total):
            return StopReason.TOTAL
        if self.heard is None:
            return StopReason.STARTUP if _over(now - self.started, limits.startup) else None
        if tools:
            return StopReason.TOOL if _over(now - min(tool.since for tool in tools), limits.tool) else None
        return StopReason.IDLE if _over(now - self.heard, _silence(limits, wait)) else None


def _silence(limits: Limits, wait: AnnouncedWait | None) -> float:
    """How long the stream may be silent now; 0: for ever."""
    if wait is None or limits.idle == 0:
        return limits.idle
    if wait.kind in _PROVIDERS_TIME:
        return max(limits.idle, limits.tool) if limits.tool else 0
    return limits.idle + wait.seconds


def _over(seconds: float, limit: float) -> bool:
    return limit > 0 and seconds > limit
