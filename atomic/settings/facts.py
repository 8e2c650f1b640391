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

    url: str | None = Field(default=None, description="folder or fsspec URL; default: records in the home")
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
    prefect: PrefectSettings = Field(default=PrefectSettings(), description="through what a run goes")
    sources: tuple[Path, ...] = ()

    @property
    def records(self) -> str:
        """Folder or URL of the records."""
        return self.record.url or str(self.home / "records")
