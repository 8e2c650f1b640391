"""The agent: is it there, does it start, which version is it, and has it the Node it needs."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from atomic.agent import Agent
from atomic.agent_package import find_package
from atomic.errors import AgentNotFound, SettingsError
from atomic.session.overlay import check_overlay
from flows.agent_output import printed, version_in
from flows.doctor.findings import Finding, fail, ok

ABOUT = "agent"
NODE_PATIENCE = 10.0  # seconds; Node says its version at once
_SHEBANG = re.compile(rb"#!\s*(\S+)(?:\s+(?:-S\s+)?(\S+))?")
_LEAST = re.compile(r">=\s*v?(\d+(?:\.\d+)*)")

Version = tuple[int, ...]


def check_agent(agent: Agent) -> list[Finding]:
    """The findings about an agent as the settings, or --agent, name it."""
    try:
        found = agent.resolve()
    except AgentNotFound as error:
        return [fail(ABOUT, error.message, error.hint)]
    if found.scripted:
        return [ok(ABOUT, "the scripted agent that comes along: it needs no Node and asks no model")]
    findings = _check_node(found)
    if not any(finding.to_do for finding in findings):
        findings.insert(0, _check_start(found))
    try:
        check_overlay(found)
    except SettingsError as error:
        findings.append(fail(ABOUT, error.message, error.hint))
    return findings


def _check_start(agent: Agent) -> Finding:
    said = printed(agent, "--version")
    shown = shlex.join(agent.command)
    if said.problem is not None:
        return fail(ABOUT, f"{shown}: {said.problem}", "run that command by hand, then install the agent anew")
    package = find_package(agent.command)
    version = version_in(said.text) or (package and package.version) or "that it does not say"
    return ok(ABOUT, f"{shown}, version {version}")


def _check_node(agent: Agent) -> list[Finding]:
    """About the Node that the agent runs on; nothing where it needs none."""
    node = interpreter(agent)
    if node is None:
        return []
    package = find_package(agent.command)
    wanted = package.node if package is not None and package.node is not None else ""
    if not node:
        what = f"the agent is a program for Node{f' {wanted}' if wanted else ''}, and there is no node on PATH"
        return [fail("node", what, "install Node (https://nodejs.org), or put it on the PATH of this shell")]
    try:
        done = subprocess.run(
            [node, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=NODE_PATIENCE,
            check=False,
        )
        version = _numbers(done.stdout.strip().removeprefix("v"))
    except (OSError, subprocess.SubprocessError, ValueError):
        return [fail("node", f"{node} does not say its version", "run `node --version`, then install Node anew")]
    least = _LEAST.fullmatch(wanted.strip())
    shown = ".".join(map(str, version))
    if least is not None and version < _numbers(least[1]):
        to_do = f'install Node {wanted}, or name one: [agent] command = ["/path/to/node", "{_script(agent)}"]'
        return [fail("node", f"Node {shown} ({node}) is too old: the agent needs {wanted}", to_do)]
    return [ok("node", f"Node {shown} ({node}){f'; the agent needs {wanted}' if wanted else ''}")]


def interpreter(agent: Agent) -> str | None:
    """The Node that a resolved agent runs on: its path, "" where it is missing, None where the agent needs none."""
    program = agent.command[0]
    if Path(program).name in ("node", "nodejs"):
        return program
    try:
        with Path(program).open("rb") as file:
            found = _SHEBANG.match(file.readline(200))
    except OSError:
        return None
    named = [os.fsdecode(part) for part in found.groups() if part] if found else []
    if not any(Path(name).name in ("node", "nodejs") for name in named):
        return None
    if Path(named[0]).name == "env":
        return shutil.which("node", path=agent.env.get("PATH")) or ""
    return named[0] if os.access(named[0], os.X_OK) else ""


def _script(agent: Agent) -> str:
    script = agent.command[1] if len(agent.command) > 1 else agent.command[0]
    return os.path.realpath(script)


def _numbers(text: str) -> Version:
    return tuple(int(part) for part in re.split(r"[.\-+]", text)[:3])
