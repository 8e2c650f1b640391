"""What a session is given, and what it tells while it runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from atomic.agent import Agent
from atomic.checks import Checks
from atomic.models import ModelRef
from atomic.policy.facts import Limits
from atomic.processes import GRACE
from atomic.record.folders import AttemptFolder
from atomic.verdict.facts import Usage

Phase = Literal["starting", "thinking", "tool", "retrying", "compacting", "settling", "checking", "stopping"]


@dataclass(frozen=True, slots=True)
class AttemptSpec:
    """One session to run: what the agent is asked, with which model, where, and within what bounds.

    Tokens and dollars of ``limits`` are what this attempt may spend: what is left of the run's.
    """

    folder: AttemptFolder  # not yet made
    run_id: str
    n: int
    agent: Agent  # resolved
    model: ModelRef | None  # None: the agent's own default
    cwd: Path
    prompt: bytes
    limits: Limits = field(default_factory=Limits)
    workspace: Path | None = None  # the folder of the workspace that ``cwd`` is in; None: it is the user's own
    carry_from: Path | None = None  # session file of the failed attempt that this one goes on with; it is copied
    checks: Checks = field(default_factory=Checks)
    grace: float = GRACE  # seconds from SIGTERM to SIGKILL

    @property
    def marker(self) -> str:
        """What every process of this attempt carries in its environment."""
        return self.folder.marker


@dataclass(frozen=True, slots=True)
class Progress:
    """How a session stands. Told when it changes, a few times a second at most."""

    n: int
    model: str | None  # at work: the agent may have changed it by itself
    seconds: float  # since the start
    usage: Usage  # the message in flight included, as far as the agent tells
    turns: int
    tool: str | None  # name of the tool that runs
    retries: int  # of the agent's own
    compactions: int
    phase: Phase
    bytes: int  # of the stream so far
