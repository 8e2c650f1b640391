"""A batch whose shards are carried out by workers of a pool: what is asked for, and how it is shared out. Pure, and
without Prefect."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from atomic.errors import UsageError
from atomic.text import one_line

SHARD_FLOW = "batch-shard"  # the flow of which a deployment is named
SHARDS = 4  # at a time, unless another number is given
HINT = "Write NAME, or NAME=N for N shards at a time: --shards-on shard=8"
_ASKED = re.compile(rf"(?:{SHARD_FLOW}/)?([^/%&<>=\x00-\x1f\x7f]+)(?:=(\d{{1,4}}))?")  # Prefect's names hold none


@dataclass(frozen=True, slots=True)
class ShardsOn:
    """A deployment of :data:`SHARD_FLOW` that shards are run by, and how many at a time."""

    name: str
    shards: int = SHARDS

    @classmethod
    def parse(cls, text: str) -> ShardsOn:
        """Read ``NAME`` or ``NAME=N``. Raises UsageError."""
        found = _ASKED.fullmatch(text.strip())
        name = found[1].strip() if found is not None else ""
        if found is None or not name or not name.isprintable():
            raise UsageError(f"{one_line(text, 100)!r} names no deployment", hint=HINT, key="shards_on")
        shards = SHARDS if found[2] is None else int(found[2])
        if shards == 0:
            raise UsageError(f"{name}=0 would let no shard begin", hint=HINT, key="shards_on")
        return cls(name, shards)

    @property
    def deployment(self) -> str:
        """The deployment's whole name."""
        return f"{SHARD_FLOW}/{self.name}"

    def __str__(self) -> str:
        return f"{self.name}={self.shards}"


@dataclass(frozen=True, slots=True)
class Share:
    """What a shard that is to be opened may do: items it may take, and sessions at a time."""

    most: int
    sessions: int


@dataclass(frozen=True, slots=True)
class Live:
    """A shard that is open: items that it may still take, and its sessions at a time."""

    room: int
    sessions: int


def size_of(left: int, shards: int, most: int) -> int:
    """How many items a shard takes: ``most``, or less, so that a small batch is cut into as many pieces as there may be
    shards."""
    return max(1, min(most, math.ceil(left / shards)))


def next_share(
    live: Collection[Live], *, shards: int, sessions: int, waiting: int, size: int, allowed: int | None
) -> Share | None:
    """The next shard to open; None where there is none. ``shards`` and ``sessions`` are the most at a time, ``waiting``
    are items that may be claimed now; ``allowed``: how many may still be given out, None for all."""
    unmet = waiting - sum(one.room for one in live)
    free = sessions - sum(one.sessions for one in live)
    places = min(shards, sessions) - len(live)
    if unmet <= 0 or free <= 0 or places <= 0 or allowed == 0:
        return None
    most = min(size, unmet)
    return Share(most if allowed is None else min(most, allowed), math.ceil(free / places))


def require_shareable(asked: ShardsOn, shares: Mapping[str, int]) -> None:
    """Refuse limits of providers that could not be kept by so many shards, each of which has its part. Raises
    UsageError."""
    for provider, most in shares.items():
        if most < asked.shards:
            raise UsageError(
                f"{asked.shards} shards at a time cannot keep to {most} sessions of {provider} (batch.shares)",
                hint=f"fewer shards (--shards-on {asked.name}={most}), or a limit across machines (--limit-across)",
                key="shards_on",
            )


@dataclass(frozen=True, slots=True)
class Seen:
    """How Prefect has the flow run of a shard. ``waits``: no worker has taken it up."""

    ended: bool
    waits: bool
    failed: bool
    message: str


class Pool(Protocol):
    """Runs shards on workers. Whatever keeps Prefect from doing what is asked raises PoolAway."""

    @property
    def work_pool(self) -> str:
        """Its name, for people."""
        ...

    async def start(self, name: str, parameters: Mapping[str, str | int | None]) -> str:
        """Have a shard run as soon as a worker is free; the id of its flow run."""
        ...

    async def look(self, flow_run_ids: Collection[str]) -> Mapping[str, Seen]:
        """How these flow runs are. Those that are gone are missing."""
        ...

    async def cancel(self, flow_run_ids: Collection[str]) -> None:
        """See to it that these, which nobody has taken up, are not."""
        ...


class PoolAway(Exception):
    """Prefect's server did not do what was asked; it may be asked again."""
