"""What is asked of the history, and what it says: frozen facts. Times are seconds since the epoch, money is US dollars.

Money is None where nobody knows a price: it is never taken for 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal

from flows.database import Control, Counts, EditionStatus

ANSWERED = "answered"  # stands among the kinds of failure where outcomes are counted
RUNNING = "running"
Rank = Literal["cost", "time"]
Cursor = str  # the id of the last run of a page: ids sort by time, so the next page begins below it


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs are meant; all that is given must hold. Of ``status``, ``kind``, ``model`` and ``provider`` one of
    each is enough, of ``tag`` every one must be there. A kind is the run's or one of its attempts'; a model is one that
    was asked or answered, with or without its level. Kinds, models, providers, tags, names and ``answered_by`` may be
    shell patterns (``anthropic/*``). ``hopped``: answered by another than the first model. ``since`` and ``until``
    are of the run's creation: from the one on, before the other. ``text`` is looked for, whatever its case, in
    custom_id, name, message and the beginning of the prompt.
    """

    status: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    provider: tuple[str, ...] = ()
    tag: tuple[str, ...] = ()
    batch: str | None = None
    edition: str | None = None
    name: str | None = None
    answered_by: str | None = None
    hopped: bool | None = None
    since: float | None = None
    until: float | None = None
    text: str | None = None

    @property
    def given(self) -> bool:
        """Whether anything is asked for at all."""
        return self != RunFilter()


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run as the database knows it. All texts are other people's words: escape them."""

    run_id: str
    name: str | None
    key: str | None
    batch: str | None
    edition: str | None
    custom_id: str | None
    status: str  # running | answered | failed
    kind: str | None
    message: str
    first_model: str | None  # with its level; None: the agent's own default
    last_model: str | None  # the one asked last
    answered_by: str | None
    hopped: bool  # answered by another than the first model
    attempts: int
    created_at: float
    ended_at: float | None
    input: int
    output: int
    cache_read: int
    cache_write: int
    cost_usd: float | None
    tags: tuple[str, ...]
    metadata: Mapping[str, Any]
    warnings: tuple[str, ...]
    cwd: str
    prompt: str  # its beginning
    record: str  # folder or URL of its files
    flow_run_id: str | None
    host: str | None
    user: str | None

    @property
    def seconds(self) -> float | None:
        """How long it took; None while it runs."""
        return None if self.ended_at is None else max(0.0, self.ended_at - self.created_at)

    @property
    def tokens(self) -> int:
        """All tokens, cached ones included."""
        return self.input + self.output + self.cache_read + self.cache_write


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """An attempt as the database knows it."""

    run_id: str
    n: int
    model: str | None
    status: str | None  # None: no verdict yet
    kind: str | None
    message: str
    answered_by: str | None
    carry: bool
    retry_at: float | None
    record: str  # its folder, relative to the run's
    started_at: float
    ended_at: float | None
    first_event_at: float | None
    first_token_at: float | None
    exit_code: int | None
    turns: int
    tool_calls: int
    failed_tool_calls: int
    retries: int
    compactions: int
    input: int
    output: int
    cache_read: int
    cache_write: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class Page:
    """Runs, the newest first. ``next`` is None where there are no more. A filter that no index answers is looked for in
    so many runs at a time: then a page can hold fewer rows than were asked for and still have a ``next``, and
    ``looked_back_to`` says how far it came."""

    rows: tuple[RunRow, ...]
    next: Cursor | None
    total: int | None  # of all runs that are meant; None where counting them would take long
    looked_back_to: float | None = None  # None: as far as was needed
    newer: Cursor | None = None  # above which the page before it begins; None where this is the first one


@dataclass(frozen=True, slots=True)
class RankedPage:
    """Runs, those that cost or took most first. ``next``: how many to pass over for the next page; None where there are
    no more."""

    rows: tuple[RunRow, ...]
    next: int | None
    looked_back_to: float | None = None  # None: all that are meant were compared


@dataclass(frozen=True, slots=True)
class Overview:
    """What runs came to. The percentiles are right to 5 %; they are None where nothing was measured."""

    runs: int = 0
    answered: int = 0
    failed: int = 0
    running: int = 0
    hopped: int = 0
    cost_usd: float | None = None  # of the runs whose cost is known
    unpriced: int = 0  # runs that used tokens and whose cost nobody knows
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    p50: float | None = None  # seconds, of the runs that have ended
    p95: float | None = None
    ttft_p50: float | None = None  # seconds from an attempt's start to its first token
    ttft_p95: float | None = None
    failed_cost_usd: float | None = None  # spent on attempts that failed
    whole: bool = True  # False: only the newest of the runs that are meant were looked at …
    looked_back_to: float | None = None  # … those from this time on

    @property
    def tokens(self) -> int:
        """All tokens, cached ones included."""
        return self.input + self.output + self.cache_read + self.cache_write

    @property
    def cache_share(self) -> float | None:
        """The share of what went in that came from the cache; None where nothing went in."""
        return share(self.cache_read, self.input + self.cache_read + self.cache_write)

    @property
    def answered_share(self) -> float | None:
        """The share of the runs that have ended with an answer; None where none has ended."""
        return share(self.answered, self.answered + self.failed)


@dataclass(frozen=True, slots=True)
class DayOutcome:
    """How many runs that began on a day came to this: a kind of failure, ``answered`` or ``running``."""

    day: date
    kind: str
    runs: int


@dataclass(frozen=True, slots=True)
class DaySpend:
    """What a model cost on a day, of the runs that began on it."""

    day: date
    model: str | None  # without its level; None: the agent's own default
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class ModelCost:
    """What a model was paid for, over its attempts."""

    model: str | None
    attempts: int
    answers: int
    cost_usd: float | None
    failed_cost_usd: float | None  # of the attempts that failed
    unpriced: int  # attempts that used tokens and whose cost nobody knows
    input: int
    output: int
    cache_read: int
    cache_write: int

    @property
    def tokens(self) -> int:
        """All tokens, cached ones included."""
        return self.input + self.output + self.cache_read + self.cache_write

    @property
    def cost_per_answer(self) -> float | None:
        """All that it cost, shared among its answers; None where there is none, or no price."""
        return share(self.cost_usd, self.answers)

    @property
    def cache_share(self) -> float | None:
        """The share of what went in that came from the cache; None where nothing went in."""
        return share(self.cache_read, self.input + self.cache_read + self.cache_write)


@dataclass(frozen=True, slots=True)
class Hop:
    """How often runs went from one model to another, and for which kind of failure of the first."""

    source: str | None
    target: str | None
    kind: str
    runs: int  # hops: a run that goes the same way twice counts twice


@dataclass(frozen=True, slots=True)
class KindCount:
    """How many attempts failed for a kind, and how many runs ended with it."""

    kind: str
    attempts: int
    runs: int


@dataclass(frozen=True, slots=True)
class ModelDuration:
    """How long a model's attempts took, in seconds; right to 5 %."""

    model: str | None
    attempts: int  # that have ended
    p50: float | None
    p95: float | None
    ttft_p50: float | None
    ttft_p95: float | None


@dataclass(frozen=True, slots=True)
class ModelHealth:
    """How a model did in its recent attempts."""

    model: str | None
    attempts: int
    answered: int
    last_kind: str | None  # of its newest failure
    last_failed_at: float | None
    last_answered_at: float | None
    cooldown_until: float | None  # of the model, or of its provider's credential
    cooldown_reason: str

    @property
    def answered_share(self) -> float | None:
        """The share that answered; None where there were none."""
        return share(self.answered, self.attempts)


@dataclass(frozen=True, slots=True)
class EditionRow:
    """An edition of a batch, and how it stands. ``rate``: items ended a minute over its last ten minutes of work."""

    id: int
    batch: str
    name: str
    status: EditionStatus
    alive: bool
    reason: str
    control: Control
    input: str
    output: str
    created_at: float
    begun_at: float
    ended_at: float | None
    counts: Counts
    kinds: Mapping[str, int]  # of the items that failed
    rate: float | None
    cost_usd: float | None
    unpriced: int
    tokens: int


@dataclass(frozen=True, slots=True)
class BatchRow:
    """A batch, and its newest edition."""

    name: str
    editions: int
    newest: EditionRow | None


@dataclass(frozen=True, slots=True)
class BatchPage:
    """Batches, those whose newest edition is the newest first."""

    rows: tuple[BatchRow, ...]
    next: int | None  # how many to pass over for the next page; None where there are no more


@dataclass(frozen=True, slots=True)
class Facets:
    """What there is to choose from in a filter's menus, each in the order of the alphabet and bounded."""

    models: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    batches: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DayFigures:
    """One side of a comparison."""

    day: date
    overview: Overview
    kinds: Mapping[str, int] = field(default_factory=dict)  # runs by outcome, `answered` and `running` among them
    models: tuple[ModelCost, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """One day against another."""

    a: DayFigures
    b: DayFigures


def share(part: float | None, whole: float) -> float | None:
    """A part of a whole; None where there is none."""
    return None if part is None or not whole else part / whole
