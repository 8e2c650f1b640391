"""What can be set, with its defaults: frozen models that refuse unknown keys."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from atomic.agent import Agent
from atomic.models import ModelEntry
from atomic.verdict.facts import Leftover

WorkspaceMode = Literal["shared", "worktree", "copy"]


class Section(BaseModel):
    """Base of every table of the file. Errors never repeat a value: it may be a secret."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, hide_input_in_errors=True)


class AgentSettings(Section):
    """``[agent]``: how the agent is called, the same way for every model of a policy."""

    command: tuple[str, ...] = Field(default=(), description="program and first arguments; empty: atomic, else pi")
    args: tuple[str, ...] = Field(default=(), description="further arguments of each session")
    env: dict[str, str] = Field(default={}, repr=False, description="variables added to the agent's environment")
    approve: bool | None = Field(default=None, description="whether the agent trusts the project's own settings")
    leftover: Leftover = Field(default="kill", description="processes that stay after a session: kill or keep")
    may_stay: tuple[str, ...] = Field(default=(), description="names of processes that may stay, build daemons say")
    settings: dict[str, Any] = Field(default={}, repr=False, description="laid over the agent's own settings.json")

    def agent(self) -> Agent:
        """The agent that these settings mean; its program is not looked for yet."""
        return replace(
            Agent.parse(shlex.join(self.command)) if self.command else Agent(),
            args=self.args,
            env=self.env,
            approve=self.approve,
            leftover=self.leftover,
            may_stay=self.may_stay,
            settings=self.settings,
        )


class RecordSettings(Section):
    """``[record]``: where the files of runs are kept, and how."""

    url: str | None = Field(
        default=None, description="folder (relative: to the file's own) or fsspec URL; default: records in the home"
    )
    spool: Path | None = Field(
        default=None,
        description="local folder for live files; default: where the records are, or spool in the home for a URL",
    )
    fsync: bool = Field(default=True, description="force what ends an attempt to the disk")
    redact: bool = Field(
        default=False,
        description="take known secrets out of streams, stderr and session files when a session has ended; the record "
        "is then no longer what the agent wrote, byte for byte",
    )
    # 3 is zstd's own default: above it streams shrink by a few per cent more and cost several times the CPU.
    level: int = Field(default=3, ge=1, le=19, description="zstd level of finished streams")


class PrefectSettings(Section):
    """``[prefect]``: through what a run goes."""

    mode: Literal["auto", "local", "ephemeral", "direct"] = Field(
        default="auto",
        description="auto: the server of PREFECT_API_URL or of Prefect's profile, else the toolkit's own; local: the "
        "toolkit's own; ephemeral: one that lives as long as the command; direct: without Prefect",
    )


class BatchSettings(Section):
    """``[batch]``: what holds for batches that do not say otherwise."""

    concurrency: int = Field(default=4, ge=1, le=1000, description="sessions at a time")
    # What providers allow differs too much for one default: the whole, until they say that it is too much.
    shares: dict[str, int] = Field(default={}, description="sessions at a time of one provider; default: all of them")
    stop_after: int = Field(
        default=20,
        ge=0,
        description="pause after so many failures of one kind in a row with no answer between; 0: never",
    )
    track: Literal["session", "shard", "auto"] = Field(
        default="session",
        description="what becomes a task in Prefect: every session, or a shard of 200 items; auto: sessions while "
        "there are few of them",
    )
    limit_across: str | None = Field(
        default=None,
        description="sessions at a time on all machines, as NAME=N: a global concurrency limit of Prefect's, which is "
        "made where it is missing",
    )
    shards_on: str | None = Field(
        default=None,
        description="the deployment of batch-shard whose workers carry shards out, as NAME or NAME=N for N at a time; "
        "default: the batch's own process does",
    )


class HistorySettings(Section):
    """``[history]``: the database of batches and history."""

    url: str | None = Field(default=None, description="sqlite:////… or postgresql://…; default: history.db in the home")


class WebhookSettings(Section):
    """``[webhook]``: who is told when a batch has ended."""

    url: str | None = Field(default=None, repr=False, description="where a JSON object is sent by POST")
    secret: str | None = Field(default=None, repr=False, description="key of the HMAC-SHA256 that signs what is sent")
    when: Literal["end", "failure"] = Field(
        default="end", description="end: at the end of every batch; failure: unless all items were answered"
    )


class DashboardSettings(Section):
    """``[dashboard]``: the web pages."""

    host: str = Field(default="127.0.0.1", description="where it listens; anything but loopback needs a token")
    # Beside Prefect's 4200, and in no system's list of services.
    port: int = Field(default=4280, ge=0, le=65535, description="its port; 0: any that is free")
    url: str | None = Field(
        default=None, description="where others reach it, for links from Prefect's pages: https://flows.example.org"
    )


class Settings(Section):
    """Everything set. ``home`` comes from the environment only (``ATOMIC_FLOWS_HOME``, default ``~/.atomic-flows``).

    ``policies`` are the tables ``[policy.NAME]`` as written: :func:`atomic.policy.resolve_policies` reads them.
    ``models`` are the tables ``[model."provider/id"]``.
    ``sources`` are the files that were read, the weakest first.
    """

    home: Path
    agent: AgentSettings = Field(default=AgentSettings(), description="how the agent is called")
    policies: dict[str, dict[str, Any]] = Field(default={}, alias="policy")
    default_policy: str = Field(default="default", description="the policy of a run that names none")
    models: dict[str, ModelEntry] = Field(
        default={}, alias="model", description="windows and prices of models that nobody else knows"
    )
    record: RecordSettings = Field(default=RecordSettings(), description="where the files of runs are kept, and how")
    adopt: Literal["stop", "follow"] = Field(
        default="stop", description="what becomes of a session whose parent died: stop it, or follow it to its end"
    )
    workspace: WorkspaceMode = Field(
        default="shared",
        description="where the agent works: in the folder itself; in a worktree of its own, with the repository's "
        "tracked files as they are and the untracked ones that are not ignored; or in a copy of the whole folder",
    )
    workspace_links: tuple[str, ...] = Field(
        default=(), description="folders of the project that a workspace links and does not copy: node_modules, say"
    )
    shared: bool = Field(
        default=False, description="whether several sessions may be at work in one folder, and its repository, at once"
    )
    prefect: PrefectSettings = Field(default=PrefectSettings(), description="through what a run goes")
    batch: BatchSettings = Field(default=BatchSettings(), description="how many items of a batch run at once")
    history: HistorySettings = Field(default=HistorySettings(), description="where batches and their items are kept")
    webhook: WebhookSettings = Field(default=WebhookSettings(), description="who is told how a batch ended")
    dashboard: DashboardSettings = Field(default=DashboardSettings(), description="the web pages")
    sources: tuple[Path, ...] = ()

    @property
    def records(self) -> str:
        """Folder or URL of the records."""
        return self.record.url or str(self.home / "records")
