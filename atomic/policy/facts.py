"""What a policy says, and the steps it can answer with: frozen facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ConfigDict, Field

from atomic.failures import FailureKind
from atomic.models import ModelRef
from atomic.verdict.facts import Facts, Verdict


class Limits(Facts):
    """Bounds of one session, in seconds; 0 means none. Tokens and dollars are those of the whole run."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    startup: float = Field(default=60, ge=0)
    idle: float = Field(default=900, ge=0)
    tool: float = Field(default=3600, ge=0)
    total: float = Field(default=0, ge=0)
    settle: float = Field(default=10, ge=0)
    turns: int = Field(default=0, ge=0)
    tokens: int = Field(default=0, ge=0)
    cost_usd: float = Field(default=0, ge=0)


class FallbackPolicy(Facts):
    """The models in order, and what to do on each kind of failure (DESIGN §6)."""

    # fields: models, max_attempts, max_wait, after_tools, continue_prompt, on, cooldown, limits (helper completes)


@dataclass(frozen=True, slots=True)
class Attempted:
    """One attempt as `decide` sees it."""

    n: int
    model: ModelRef | None
    verdict: Verdict
    ended_at: float
    carried: bool = False
    has_session: bool = False  # a session file is there to carry on with


@dataclass(frozen=True, slots=True)
class Start:
    """Begin an attempt with this model, at once."""

    model: ModelRef | None
    carry: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing can start before `until` (seconds since the epoch): a cooldown, or the delay of a retry."""

    until: float
    reason: str


@dataclass(frozen=True, slots=True)
class End:
    """The run is over. `attempt` is the number of the attempt whose answer counts, where there is one."""

    status: Literal["answered", "failed"]
    kind: FailureKind | None
    message: str
    attempt: int | None = None
    warning: str | None = None


Step = Start | Wait | End
JsonDict = dict[str, Any]
