"""`run`: one prompt through a policy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from flows.cli import completion


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line says of a run. None and empty: what the settings say. ``agent`` is the text of --agent."""

    prompt: bytes
    models: tuple[str, ...] = ()
    policy: str | None = None
    cwd: Path | None = None
    name: str | None = None
    key: str | None = None
    tags: tuple[str, ...] = ()
    agent: str | None = None
    config: Path | None = None
    as_json: bool = False
    slash: bool = False
    mode: Literal["auto", "local", "ephemeral", "direct"] | None = None  # of [prefect]
    max_cost: float | None = None
    max_tokens: int | None = None
    idle: float | None = None
    total: float | None = None


LIMITS, PREFECT = "Limits", "Prefect"


def run(
    prompt: Annotated[
        str, typer.Argument(metavar="PROMPT|-|@FILE", help="The prompt; - reads it from stdin, @FILE from a file.")
    ],
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            help="provider/id[:level]; again for the ones to fall back to.",
            autocompletion=completion.models,
        ),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option("--policy", "-p", help="A policy of the settings.", autocompletion=completion.policies),
    ] = None,
    cwd: Annotated[Path | None, typer.Option("--cwd", "-C", help="The folder the agent works in.")] = None,
    name: Annotated[str | None, typer.Option("--name", "-n", help="A name to find the run by.")] = None,
    key: Annotated[
        str | None, typer.Option("--key", help="Idempotence: a second run with the key gives the recorded answer.")
    ] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", "-t", help="A tag; may be repeated.")] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", help="The agent's command, or `scripted`.", metavar="COMMAND")
    ] = None,
    config: Annotated[Path | None, typer.Option("--config", help="Settings file in place of the project's.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole result as one JSON object.")] = False,
    slash: Annotated[bool, typer.Option("--slash", help="The prompt may be one of the agent's / commands.")] = False,
    max_cost: Annotated[
        float | None,
        typer.Option("--max-cost", min=0, metavar="USD", help="Stop at this cost.", rich_help_panel=LIMITS),
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", min=0, metavar="N", help="Stop at so many.", rich_help_panel=LIMITS)
    ] = None,
    idle: Annotated[
        float | None,
        typer.Option("--idle", min=0, metavar="SECONDS", help="Silence of a session.", rich_help_panel=LIMITS),
    ] = None,
    total: Annotated[
        float | None,
        typer.Option("--timeout", min=0, metavar="SECONDS", help="Length of a session.", rich_help_panel=LIMITS),
    ] = None,
    ephemeral: Annotated[
        bool, typer.Option("--ephemeral", help="A Prefect server for this run alone.", rich_help_panel=PREFECT)
    ] = False,
    direct: Annotated[bool, typer.Option("--direct", help="Without Prefect.", rich_help_panel=PREFECT)] = False,
) -> None:
    """Run one prompt: through the models of the policy until one answers.

    The answer goes to stdout, all else to stderr. Ctrl-C stops the agent and its tools and keeps the record.
    """
    from atomic.errors import UsageError
    from flows.cli.prompts import read_prompt
    from flows.cli.running import carry_out

    if ephemeral and direct:
        raise UsageError("--ephemeral and --direct exclude each other", hint="--direct goes without Prefect at all")
    asked = Asked(
        prompt=read_prompt(prompt),
        models=tuple(model or ()),
        policy=policy,
        cwd=cwd,
        name=name,
        key=key,
        tags=tuple(tag or ()),
        agent=agent,
        config=config,
        as_json=as_json,
        slash=slash,
        mode="ephemeral" if ephemeral else "direct" if direct else None,
        max_cost=max_cost,
        max_tokens=max_tokens,
        idle=idle,
        total=total,
    )
    raise typer.Exit(carry_out(asked).code)
