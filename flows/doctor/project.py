"""The project: which of its files the agent passes over because nobody said that it may trust them."""

from __future__ import annotations

from pathlib import Path

from atomic.agent import Agent
from atomic.project_trust import skipped_files
from flows.doctor.findings import Finding, ok, warn

ABOUT = "project"
TO_DO = "[agent] approve = true in your own settings trusts it, false says that they are to be skipped"


def check_project(agent: Agent, cwd: Path) -> list[Finding]:
    """What of the project in ``cwd`` the agent passes over."""
    cwd = cwd.resolve()
    skipped = skipped_files(agent, cwd)
    if not skipped.files:
        return [ok(ABOUT, f"the agent skips nothing of {cwd}")]
    names = skipped.names(cwd)
    if skipped.decided:
        return [ok(ABOUT, f"the agent skips {names}, as was decided")]
    return [warn(ABOUT, f"the agent skips {names}: nobody has said that it may trust this project", TO_DO)]
