"""What of a project the agent passes over as long as it does not trust it.

An agent without a terminal cannot ask: where nobody has decided, the project is not trusted. Which files that is about
was read in the sources of Atomic and of pi 1.6.0 (`trust-manager.ts`): settings and what can run code, below the
project's own folder for the agent, and skills. Atomic passes over AGENTS.md and its like as well; pi reads them
anyway, and before 0.79 it read everything.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from atomic.agent import Agent
from atomic.agent_package import AgentPackage, find_package
from atomic.models.agent_folder import agent_folder
from atomic.regular import read_json

INSTRUCTIONS = ("AGENTS.override.md", "AGENTS.md", "CLAUDE.md")
_GATED = ("settings.json", "mcp.json", "extensions", "skills", "prompts", "themes", "SYSTEM.md", "APPEND_SYSTEM.md")
_PI = "pi-coding-agent"  # what pi's package is called, in either scope
_PI_GATES = (0, 79)  # pi's first release that asks for trust
_YES, _NO = {"--approve", "-a"}, {"--no-approve", "-na"}


@dataclass(frozen=True, slots=True)
class Skipped:
    """Files and folders that this agent passes over, the nearest first. ``decided``: somebody said so; otherwise
    nobody has said anything."""

    files: tuple[Path, ...]
    decided: bool

    def names(self, cwd: Path) -> str:
        """The files, as short as they can be said from ``cwd``."""
        return ", ".join(str(file.relative_to(cwd) if file.is_relative_to(cwd) else file) for file in self.files)


def skipped_files(agent: Agent, cwd: Path) -> Skipped:
    """What of the project in ``cwd`` this agent would pass over. No files where it trusts the project, or is known to
    have no such thing as trust."""
    cwd = Path(os.path.realpath(cwd))
    said = _said(agent)
    decision = _decision(agent_folder(agent.env, agent.command), cwd) if said is None else said
    if decision or agent.scripted:
        return Skipped((), decided=False)
    return Skipped(tuple(_passed_over(agent, cwd)), decided=decision is False)


def decided_as_in(cwd: Path, agent: Agent) -> Agent:
    """The agent with what it has decided about the project in ``cwd`` said by a flag: it keeps such decisions by
    folder, and is to work on the same project in another one. Unchanged where nothing was decided, or where the agent
    has no such flag."""
    package = find_package(agent.command)
    if _said(agent) is not None or package is None or _has_no_trust(package):
        return agent
    decision = _decision(agent_folder(agent.env, agent.command), Path(os.path.realpath(cwd)))
    return agent if decision is None else replace(agent, approve=decision)


def _has_no_trust(package: AgentPackage) -> bool:
    return _is_pi(package) and _release(package.version) < _PI_GATES


def _is_pi(package: AgentPackage) -> bool:
    return package.name is not None and package.name.rpartition("/")[2] == _PI


def _said(agent: Agent) -> bool | None:
    """What the settings and flags of this agent say of trust; the last flag counts."""
    said = agent.approve
    for argument in agent.args:
        said = True if argument in _YES else False if argument in _NO else said
    return said


def _decision(folder: Path, cwd: Path) -> bool | None:
    """What the agent's own folder says: a decision about this folder or one above, else about all."""
    saved = _object(folder / "trust.json")
    for place in (cwd, *cwd.parents):
        if isinstance(saved.get(str(place)), bool):
            return bool(saved[str(place)])
    fallback = _object(folder / "settings.json").get("defaultProjectTrust")
    return {"always": True, "never": False}.get(fallback) if isinstance(fallback, str) else None


def _passed_over(agent: Agent, cwd: Path) -> Iterator[Path]:
    package = find_package(agent.command)
    if package is not None and _has_no_trust(package):
        return
    pi = package is not None and _is_pi(package)
    folders = (".pi",) if pi else (".atomic", ".pi")
    yield from (path for folder in folders for name in _GATED if (path := cwd / folder / name).exists())
    own_skills = Path(os.path.expanduser("~")).resolve() / ".agents" / "skills"  # noqa: PTH111 (does not raise)
    for place in (cwd, *cwd.parents):
        if not pi:
            yield from (path for name in INSTRUCTIONS if (path := place / name).is_file())
        skills = place / ".agents" / "skills"
        if skills != own_skills and skills.is_dir():
            yield skills


def _release(version: str | None) -> tuple[int, ...]:
    found = re.match(r"(\d+)\.(\d+)", version or "")
    return (int(found[1]), int(found[2])) if found else _PI_GATES


def _object(file: Path) -> dict[str, Any]:
    try:
        data = read_json(file)
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}
