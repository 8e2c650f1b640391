"""A batch as it is asked for, how it stands, and what it came to: frozen facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from atomic.errors import EXIT_ANSWERED, EXIT_BUDGET, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_TERMINATED
from atomic.failures import FailureKind
from atomic.policy import FallbackPolicy
from atomic.record import RunStore
from atomic.runner import RunRequest
from atomic.settings import Settings, WorkspaceMode
from atomic.verdict.facts import Facts
from atomic.workspace import Plan, plan_workspace
from flows.batch.across import SharedLimit
from flows.batch.budget import Budget
from flows.batch.pool import ShardsOn
from flows.batch.tracking import Track
from flows.inputs import Checked, Choice

OnBudget = Literal["finish", "stop"]


class Ending(StrEnum):
    """Why a batch ended."""

    FINISHED = "finished"  # every item has ended
    LIMIT = "limit"  # as many were run as were asked for
    BUDGET = "budget"  # the money or the tokens are used up
    HALTED = "halted"  # too many failures of one kind in a row
    DRAINED = "drained"  # somebody asked it to end with what was at work
    STOPPED = "stopped"  # somebody asked it to end at once
    INTERRUPTED = "interrupted"  # SIGINT
    TERMINATED = "terminated"  # SIGTERM
    CANCELLED = "cancelled"  # its flow run was set to Cancelling


EXIT_CODES: Mapping[Ending, int] = {
    Ending.BUDGET: EXIT_BUDGET,
    Ending.HALTED: EXIT_FAILED,
    Ending.DRAINED: EXIT_INTERRUPTED,
    Ending.STOPPED: EXIT_INTERRUPTED,
    Ending.INTERRUPTED: EXIT_INTERRUPTED,
    Ending.TERMINATED: EXIT_TERMINATED,
    Ending.CANCELLED: EXIT_INTERRUPTED,
}


@dataclass(frozen=True, slots=True)
class Asked:
    """How an edition is to be carried out. ``edition`` names it; None: the newest that has not ended."""

    edition: str | None = None
    new: bool = False
    retry_failed: bool = False
    redo: bool = False
    limit: int | None = None  # items to run now
    on_budget: OnBudget = "finish"
    deadline: float | None = None  # seconds since the epoch: when waiting for cooldowns is given up
    stop_after: int = 0
    concurrency: int = 1
    track: Track = "session"
    limit_across: SharedLimit | None = None  # of the sessions on all machines
    shards_on: ShardsOn | None = None  # what runs its shards on workers; None: they are this process's own


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """A batch that has been checked whole and can start. Made by :func:`flows.batch.prepare_batch`."""

    name: str
    checked: Checked
    folders: tuple[Path, ...]  # in which its items work; none where each has a workspace of its own
    slash: bool
    output: Path  # the folder of the results
    form: RunRequest  # what every run has in common
    policies: Mapping[Choice, FallbackPolicy]  # by what items say
    budget: Budget
    asked: Asked
    settings: Settings
    store: RunStore
    workspace: WorkspaceMode = "shared"  # of items that name none
    agent: str | None = None  # its command line, where the caller gave one
    config: Path | None = None  # the file of settings, where the caller gave one

    def choose(self, policy: str | None, models: tuple[str, ...]) -> FallbackPolicy:
        """The policy of an item that says this."""
        return self.policies[Choice(policy, models)]

    def occupying(self) -> AbstractContextManager[object]:
        """Within, the batch is at work in the folders of its items. Raises FolderBusy."""
        return self.store.occupants.at_work(f"batch {self.name}", self.folders, shared=self.form.shared)

    def plan(self, cwd: Path | None, workspace: WorkspaceMode | None) -> Plan | None:
        """The workspace of an item that says this. Blocks for some milliseconds. Raises WorkspaceError."""
        mode = workspace or self.workspace
        return plan_workspace(mode, (cwd or self.form.cwd).resolve(), self.settings.workspace_links)


class BatchProgress(Facts):
    """How a batch stands. ``running`` are live sessions; ``pending`` have not begun, or wait for a slot."""

    batch: str
    edition: str
    state: Literal["running", "paused", "ending"] = "running"
    total: int = 0
    answered: int = 0
    failed: int = 0
    running: int = 0
    parked: int = 0
    queued: int = 0  # that wait for a slot of the limit across machines
    pending: int = 0
    per_minute: float | None = None  # items; None while too few have ended to tell
    seconds_left: float | None = None
    cost_usd: float = 0  # as far as known, live sessions included
    tokens: int = 0
    seconds: float = 0
    waiting_until: float | None = None  # every model cools down until then

    @property
    def done(self) -> int:
        """Items that have ended."""
        return self.answered + self.failed


class Notice(Facts):
    """Something that a person should know, in one line."""

    text: str


BatchEvent = BatchProgress | Notice
OnBatchEvent = Callable[[BatchEvent], None]


class BatchResult(Facts):
    """What a batch came to. Counts are those of the edition; ``ran`` are the items that ended in this call."""

    batch: str
    edition: str
    ending: Ending
    reason: str = ""
    total: int = 0
    answered: int = 0
    failed: int = 0
    left: int = 0
    ran: int = 0
    kinds: dict[FailureKind, int] = Field(default_factory=dict)  # of the failed items
    tokens: int = 0
    cost_usd: float | None = None  # of the edition; None where nobody knows
    unpriced: int = 0  # runs whose cost nobody knows
    seconds: float = 0
    results: str = ""
    errors: str = ""
    warnings: tuple[str, ...] = ()
    flow_run_id: str | None = None

    @property
    def exit_code(self) -> int:
        """0 all answered, 1 some failed or the batch halted, 3 budget, 130 stopped, 143 terminated."""
        return EXIT_CODES.get(self.ending, EXIT_FAILED if self.failed else EXIT_ANSWERED)

    @property
    def go_on(self) -> str:
        """What to do next, in words; empty where nothing is left."""
        if self.ending is Ending.BUDGET:
            return "the same command with a larger budget goes on with the rest"
        if self.ending is Ending.HALTED:
            return "put it right, then give the same command with --retry-failed"
        if self.left:
            return f"the same command goes on with the {self.left} left"
        return "the same command with --retry-failed runs the failed ones again" if self.failed else ""

    def to_json(self) -> dict[str, Any]:
        """Plain values, for `--json` and for who is told of the end."""
        return {**self.model_dump(mode="json"), "exit_code": self.exit_code, "go_on": self.go_on}
