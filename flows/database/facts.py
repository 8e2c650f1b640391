"""What the database says of batches: frozen facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from atomic.failures import FailureKind
from atomic.record import Owner
from atomic.verdict.facts import Status

EditionStatus = Literal["running", "stopped", "finished", "skipped"]
Control = Literal["run", "pause", "drain", "stop"]  # what another process asks of the one that carries an edition out
ItemState = Literal["pending", "running", "parked", "answered", "failed"]


@dataclass(frozen=True, slots=True)
class Counts:
    """How many items of an edition are in each state."""

    pending: int = 0
    running: int = 0
    parked: int = 0
    answered: int = 0
    failed: int = 0

    @property
    def total(self) -> int:
        """All items."""
        return self.left + self.answered + self.failed

    @property
    def left(self) -> int:
        """Those that have not ended."""
        return self.pending + self.running + self.parked


@dataclass(frozen=True, slots=True)
class Edition:
    """An edition that this process carries out. ``term`` tells it from whoever carried it out before: what is written
    with an older term is refused."""

    id: int
    batch: str
    name: str
    term: int
    resumed: bool  # it was there before
    taken_from: Owner | None  # the dead process that carried it out; None when it was ended properly, or is new
    counts: Counts  # as it was begun, before its input is loaded
    shard: int | None = None  # the one that is this process's alone, where others carry out the rest


@dataclass(frozen=True, slots=True)
class ShardState:
    """A shard of a pool, as the process that has opened it sees it."""

    number: int
    most: int  # items that it may take
    taken: int
    owner: Owner | None  # None until a worker has taken it up
    silence: float  # seconds since its last heartbeat
    ended: bool  # by its own word
    reason: str  # why it ended before its time; empty where it did not

    @property
    def room(self) -> int:
        """How many items it may still take."""
        return max(0, self.most - self.taken)


@dataclass(frozen=True, slots=True)
class Waiting:
    """What nobody has of an edition: items that may be claimed now, and when the next may (seconds since the epoch;
    None: none is parked)."""

    now: int
    due: float | None


@dataclass(frozen=True, slots=True)
class EditionState:
    """An edition as anybody sees it. Times are seconds since the epoch."""

    id: int
    batch: str
    name: str
    status: EditionStatus
    reason: str  # why it stopped
    alive: bool  # running, and its owner is not known to be dead
    owner: Owner | None
    control: Control
    control_by: str | None  # user@host who asked
    input: str
    fingerprint: str  # of what its items were loaded from; empty while they are not all loaded
    output: str
    created_at: float
    begun_at: float
    heartbeat_at: float
    ended_at: float | None
    counts: Counts


@dataclass(frozen=True, slots=True)
class ItemRow:
    """An item as it is loaded. ``source``: whatever its claimer needs to carry it out, given back as it is."""

    custom_id: str
    digest: str  # of prompt, folder and agent flags: another one makes it run again
    source: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """What loading an input came to, in items."""

    new: int = 0
    kept: int = 0  # as they were, whatever their state
    changed: int = 0  # another digest: pending again
    again: int = 0  # pending again because a retry of failed ones, or a redo, was asked for
    gone: int = 0  # no longer in the input: dropped, unless they have ended


@dataclass(frozen=True, slots=True)
class ClaimedItem:
    """An item that is the claimer's until it is ended, parked or released."""

    id: int
    custom_id: str
    digest: str
    position: int
    key: str  # of the run: the same until the item changes or is redone, so that no answer is bought twice
    claims: int  # this one included
    source: str


@dataclass(frozen=True, slots=True)
class Ended:
    """What a claimed item came to. ``result``: its line of the results file."""

    item_id: int
    status: Status
    kind: FailureKind | None
    run_id: str | None
    result: str


@dataclass(frozen=True, slots=True)
class ItemResult:
    """An item that has ended, as the results files tell it."""

    custom_id: str
    position: int
    status: Status
    kind: FailureKind | None
    run_id: str | None
    result: str


@dataclass(frozen=True, slots=True)
class Spent:
    """What the runs of an edition used, failed ones included."""

    tokens: int
    cost_usd: float  # of the runs whose cost is known
    unpriced: int  # runs that used tokens and whose cost nobody knows


@dataclass(frozen=True, slots=True)
class Cooldown:
    """Something that is not to be tried before a time (seconds since the epoch). ``key``: see
    :mod:`atomic.policy.cooldowns`."""

    key: str
    until: float
    kind: FailureKind | None = None
    reason: str = ""
