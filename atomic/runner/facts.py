"""A run as it is asked for, what it came to, and what happens on the way: frozen facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field

from atomic.agent import Agent
from atomic.failures import FailureKind
from atomic.models import ModelCatalog, ModelRef
from atomic.policy import FallbackPolicy
from atomic.record import AttemptRecord, AttemptSummary, Changes, RunRecord
from atomic.session import Progress
from atomic.verdict.facts import Facts, Status, Usage, Verdict
from atomic.workspace import Plan


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A run that has been checked and can start. Made by :func:`atomic.runner.prepare`."""

    prompt: bytes
    policy: FallbackPolicy
    agent: Agent
    cwd: Path
    catalog: ModelCatalog = field(default_factory=ModelCatalog)
    name: str | None = None
    key: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    batch: str | None = None
    edition: str | None = None
    custom_id: str | None = None
    workspace: Plan | None = None  # None: the agent works in ``cwd`` itself
    shared: bool = False  # other sessions may be at work in ``cwd``, too
    wait_until: float | None = None  # the time (seconds since the epoch) until which it may wait; None: max_wait holds


class RunResult(Facts):
    """What a run came to. ``record`` is the folder (or URL) of its files, ``seconds`` how long it took."""

    run_id: str
    name: str | None = None
    status: Status
    kind: FailureKind | None = None
    message: str = ""
    answer: str | None = None
    answered_by: str | None = None
    attempts: tuple[AttemptSummary, ...] = ()
    usage: Usage = Usage()
    cost_usd: float | None = None
    seconds: float = 0
    record: str = ""
    flow_run_id: str | None = None
    warnings: tuple[str, ...] = ()
    recorded: bool = False  # the answer of an earlier run with the same key: nothing was bought
    changes: Changes | None = None  # in the run's workspace; None: it had none
    verdicts: tuple[Verdict, ...] = Field(default=(), repr=False)  # of the attempts, in order

    @property
    def answered(self) -> bool:
        """Whether the prompt was answered."""
        return self.status is Status.ANSWERED

    @property
    def inner_retries(self) -> int:
        """How often the agent itself tried again within the attempts: it multiplies with the policy's own retries."""
        return sum(verdict.retries for verdict in self.verdicts)

    def to_json(self) -> dict[str, Any]:
        """The object that `run --json` prints: plain values, the names that every output uses."""
        data = self.model_dump(mode="json", by_alias=True, include=set(_PRINTED))
        data["usage"] = {key: data["usage"].get(key) for key in _PRINTED_USAGE}
        data["attempts"] = [{key: attempt.get(key) for key in _PRINTED_ATTEMPT} for attempt in data["attempts"]]
        return {key: data[key] for key in _PRINTED}


_PRINTED = (
    *("run_id", "name", "status", "kind", "message", "answer", "answered_by", "attempts"),
    *("usage", "cost_usd", "seconds", "record", "flow_run_id", "changes"),
)
_PRINTED_USAGE = ("input", "output", "cacheRead", "cacheWrite", "cost_usd")
_PRINTED_ATTEMPT = ("n", "model", "status", "kind", "message", "answered_by", "carry", "retry_at", "record")


@dataclass(frozen=True, slots=True)
class RunStarted:
    """The run has its id and its record; nothing has been spent yet."""

    run_id: str
    name: str | None
    models: tuple[ModelRef, ...]  # empty: the agent's own default model
    record: str


@dataclass(frozen=True, slots=True)
class AttemptStarted:
    """An attempt begins. ``reason``: why with this model."""

    n: int
    model: str | None
    carry: bool
    reason: str


@dataclass(frozen=True, slots=True)
class AttemptProgress:
    """What the attempt at work is doing."""

    progress: Progress


@dataclass(frozen=True, slots=True)
class AttemptEnded:
    """An attempt has its verdict."""

    n: int
    model: str | None
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Waiting:
    """The run waits until a time (seconds since the epoch)."""

    until: float
    reason: str


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The run is over, and its record is whole: ``run``, and those of its attempts."""

    result: RunResult
    run: RunRecord
    attempts: tuple[AttemptRecord, ...]


RunEvent = RunStarted | AttemptStarted | AttemptProgress | AttemptEnded | Waiting | RunEnded
