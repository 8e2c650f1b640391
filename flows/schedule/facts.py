"""A schedule as the file says it: frozen models that refuse unknown keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from atomic.settings.facts import Section, WorkspaceMode

Overlap = Literal["skip", "queue"]
# Seconds: a machine that starts anew, or a server, is back by then. A night that is begun in the morning is none.
LATE = 300.0


class Job(Section):
    """What batches and prompts have in common. None and empty: what the settings say."""

    policy: str | None = Field(default=None, description="a policy of the settings")
    models: tuple[str, ...] = Field(default=(), description="models in order, in the place of the policy's")
    agent: str | None = Field(default=None, description="the agent's command line, or scripted")
    cwd: Path | None = Field(default=None, description="the folder in which the agent works; default: the file's own")
    tags: tuple[str, ...] = Field(default=(), description="tags for every record")
    metadata: dict[str, Any] = Field(default={}, description="anything, for every record")
    workspace: WorkspaceMode | None = Field(
        default=None, description="where the agent works: shared, worktree or copy; default: as set"
    )
    shared: bool | None = Field(
        default=None, description="whether several sessions may be at work in one folder at once; default: as set"
    )
    slash: bool = Field(default=False, description="allow prompts that begin with /")
    max_cost: float | None = Field(default=None, ge=0, description="the most that an edition may cost, in dollars")
    max_tokens: int | None = Field(default=None, ge=0, description="the most tokens that an edition may use")
    on_budget: Literal["finish", "stop"] = Field(default="finish", description="what becomes of live sessions then")


class BatchJob(Job):
    """``batch = { input = "prompts.jsonl", … }``."""

    input: Path = Field(description="the file of the items")
    output: Path | None = Field(default=None, description="the folder of the results; default: NAME-results beside it")
    template: Path | None = Field(default=None, description="a Jinja2 file that makes a prompt of each row")
    format: str | None = Field(default=None, description="the input's format, where its name does not say it")
    limit: int | None = Field(default=None, ge=1, description="items of an edition that are run")
    concurrency: int | None = Field(default=None, ge=1, le=1000, description="sessions at a time")
    stop_after: int | None = Field(default=None, ge=0, description="halt after so many failures of one kind in a row")
    track: Literal["session", "shard", "auto"] | None = Field(
        default=None, description="what becomes a task in Prefect"
    )
    limit_across: str | None = Field(
        default=None,
        description="sessions at a time on all machines, as NAME=N: a global concurrency limit of Prefect's",
    )


class PromptJob(Job):
    """``prompt = { text = "…", … }``."""

    text: str | None = Field(default=None, description="the prompt")
    file: Path | None = Field(default=None, description="a file that holds it, read each time")


class Schedule(Section):
    """``[[schedule]]``. One of cron, interval and rrule; one of batch and prompt."""

    name: str = Field(description="of the deployment, and of the batch")
    cron: str | None = Field(default=None, description="minute hour day month weekday")
    interval: float | str | None = Field(default=None, description='seconds, or "90s", "15m", "6h", "1d"')
    rrule: str | None = Field(
        default=None, description="an iCalendar rule: FREQ=WEEKLY;BYDAY=MO,TH;BYHOUR=2;BYMINUTE=0"
    )
    timezone: str = Field(default="UTC", description="in which these hours are told: Europe/Berlin")
    overlap: Overlap = Field(default="skip", description="while the edition before runs: skip this one, or queue it")
    late: float | str = Field(
        default=LATE, description="how late it may begin, written as interval; later it is missed"
    )
    deadline: str | None = Field(
        default=None, description='until when it waits for cooldowns: "6h", "06:00"; default: the next scheduled time'
    )
    batch: BatchJob | None = None
    prompt: PromptJob | None = None

    @property
    def job(self) -> BatchJob | PromptJob:
        """What is to be done."""
        job = self.batch or self.prompt
        assert job is not None, "a schedule that was read has one"
        return job


class ScheduleFile(Section):
    """The whole file."""

    schedule: tuple[Schedule, ...] = ()
