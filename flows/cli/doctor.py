"""`doctor`: what would keep a run from going well."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from flows.doctor import Finding


def doctor(
    model: Annotated[
        list[str] | None, typer.Option("--model", "-m", help="Ask about these models in place of the policy's.")
    ] = None,
    policy: Annotated[str | None, typer.Option("--policy", "-p", help="A policy of the settings.")] = None,
    cwd: Annotated[Path, typer.Option("--cwd", "-C", help="The folder the agent would work in.")] = Path(),
    agent: Annotated[
        str | None, typer.Option("--agent", help="The agent's command, or `scripted`.", metavar="COMMAND")
    ] = None,
    config: Annotated[Path | None, typer.Option("--config", help="Settings file in place of the project's.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Look for what would keep a run from going well, and say what to do about it.

    The agent and its Node, Prefect, folders, the agent's locks, the providers of the policy (asked for their models, no
    model is called), the project's files. Exits with 1 when something would fail.
    """
    import asyncio

    from flows.cli.output import page, say, write_json
    from flows.doctor import Asked, Level, examine

    findings = asyncio.run(examine(Asked(cwd, config, agent, policy, tuple(model or ()))))
    failing = sum(finding.level is Level.FAIL for finding in findings)
    if as_json:
        write_json({"ok": not failing, "findings": [finding.model_dump(mode="json") for finding in findings]})
    else:
        page(_lines(findings))
        warnings = sum(finding.level is Level.WARN for finding in findings)
        say(f"{_number(failing, 'thing')} would fail, {_number(warnings, 'warning')}")
    raise typer.Exit(1 if failing else 0)


def _lines(findings: list[Finding]) -> list[str]:
    import sys

    from atomic.text import one_line
    from flows.cli.output import DIM, GREEN, RED, YELLOW, paint

    signs = {"ok": ("✓", GREEN), "warn": ("!", YELLOW), "fail": ("✗", RED)}
    width = max(len(finding.about) for finding in findings)
    lines = []
    for finding in findings:
        sign, colour = signs[finding.level]
        about = paint(finding.about.ljust(width), DIM, stream=sys.stdout)
        lines.append(f"{paint(sign, colour, stream=sys.stdout)} {about}  {one_line(finding.what, 600)}")
        if finding.to_do:
            lines.append(f"  {' ' * width}  → {one_line(finding.to_do, 600)}")
    return lines


def _number(count: int, thing: str) -> str:
    return f"{count or 'no'} {thing}{'' if count == 1 else 's'}"
