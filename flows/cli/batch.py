"""`batch`: every prompt of an input, once."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

RUN_AGAIN, LIMITS, PREFECT = "What runs", "Limits", "Prefect"


@dataclass(frozen=True, slots=True)
class BatchAsked:
    """What the command line says of a batch. ``given`` are arguments of :func:`flows.batch.prepare_batch`."""

    input: Path
    given: dict[str, Any] = field(default_factory=dict)
    deadline: str | None = None
    mode: Literal["auto", "local", "ephemeral", "direct"] | None = None  # of [prefect]
    as_json: bool = False


def batch(
    input: Annotated[  # noqa: A002 - what it is called everywhere
        Path, typer.Argument(metavar="INPUT", help="JSONL, CSV, YAML, OpenAI batch lines, or text, a prompt a line.")
    ],
    name: Annotated[str | None, typer.Option("--name", "-n", help="The batch's name; default: the input's.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder of results.jsonl; default: NAME-results beside it.")
    ] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Sessions at a time.")] = None,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", "-m", help="provider/id[:level]; again for the ones to fall back to."),
    ] = None,
    policy: Annotated[str | None, typer.Option("--policy", "-p", help="A policy of the settings.")] = None,
    template: Annotated[
        Path | None, typer.Option("--template", help="A Jinja2 file that makes a prompt of each row.")
    ] = None,
    format: Annotated[  # noqa: A002
        str | None, typer.Option("--format", help="The input's format, where its name does not say it.")
    ] = None,
    cwd: Annotated[Path | None, typer.Option("--cwd", "-C", help="The folder the agent works in.")] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", help="The agent's command, or `scripted`.", metavar="COMMAND")
    ] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", "-t", help="A tag; may be repeated.")] = None,
    config: Annotated[Path | None, typer.Option("--config", help="Settings file in place of the project's.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what it came to as one JSON object.")] = False,
    slash: Annotated[bool, typer.Option("--slash", help="Prompts may be the agent's / commands.")] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Check all, say what it would come to, and stop.", rich_help_panel=RUN_AGAIN),
    ] = False,
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=1, metavar="N", help="Run so many items now.", rich_help_panel=RUN_AGAIN),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run the failed items again.", rich_help_panel=RUN_AGAIN)
    ] = False,
    redo: Annotated[bool, typer.Option("--redo", help="Run all items again.", rich_help_panel=RUN_AGAIN)] = False,
    new: Annotated[bool, typer.Option("--new", help="Begin another edition.", rich_help_panel=RUN_AGAIN)] = False,
    edition: Annotated[
        str | None,
        typer.Option("--edition", help="The edition to go on with, or to begin.", rich_help_panel=RUN_AGAIN),
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option("--max-cost", min=0, metavar="USD", help="Spend no more, in all.", rich_help_panel=LIMITS),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option("--max-tokens", min=0, metavar="N", help="Use no more, in all.", rich_help_panel=LIMITS),
    ] = None,
    on_budget: Annotated[
        Literal["finish", "stop"],
        typer.Option(
            "--on-budget", help="When that is reached: finish what is live, or stop it.", rich_help_panel=LIMITS
        ),
    ] = "finish",
    stop_after: Annotated[
        int | None,
        typer.Option(
            "--stop-after",
            min=0,
            metavar="N",
            help="Stop after so many failures of one kind in a row; 0: never.",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    deadline: Annotated[
        str | None,
        typer.Option(
            "--deadline", metavar="WHEN", help="Wait for cooldowns until 06:00, or for 6h.", rich_help_panel=LIMITS
        ),
    ] = None,
    track: Annotated[
        Literal["session", "shard", "auto"] | None,
        typer.Option("--track", help="What becomes a task in Prefect.", rich_help_panel=PREFECT),
    ] = None,
    ephemeral: Annotated[
        bool, typer.Option("--ephemeral", help="A Prefect server for this batch alone.", rich_help_panel=PREFECT)
    ] = False,
    direct: Annotated[bool, typer.Option("--direct", help="Without Prefect.", rich_help_panel=PREFECT)] = False,
) -> None:
    """Run every prompt of an input through its policy, an answer bought once.

    The same command goes on where the last one ended, whatever ended it. The name of the results file goes to stdout,
    all else to stderr. Exit codes: 0 all answered, 1 some failed, 2 usage, 3 budget, 130 and 143 stopped.
    """
    from atomic.errors import UsageError
    from flows.cli.batching import carry_out, foretell

    if ephemeral and direct:
        raise UsageError("--ephemeral and --direct exclude each other", hint="--direct goes without Prefect at all")
    given = {
        "name": name,
        "output": output,
        "concurrency": jobs,
        "models": tuple(model or ()),
        "policy": policy,
        "template": template,
        "format": format,
        "cwd": cwd,
        "agent": agent,
        "tags": tuple(tag or ()),
        "config": config,
        "slash": slash,
        "limit": limit,
        "retry_failed": retry_failed,
        "redo": redo,
        "new": new,
        "edition": edition,
        "max_cost": max_cost,
        "max_tokens": max_tokens,
        "on_budget": on_budget,
        "stop_after": stop_after,
        "track": track,
    }
    mode: Literal["ephemeral", "direct"] | None = "ephemeral" if ephemeral else "direct" if direct else None
    asked = BatchAsked(input, given, deadline, mode, as_json)
    raise typer.Exit(foretell(asked) if dry_run else carry_out(asked))
