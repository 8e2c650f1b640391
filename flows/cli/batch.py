"""`batch`: every prompt of an input, once."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from flows.cli.numbers import count, dollars, some

WHO, RUN_AGAIN, LIMITS, PREFECT = "Who answers", "What runs", "Limits", "Prefect"


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
    template: Annotated[
        Path | None,
        typer.Option("--template", metavar="FILE", help="A Jinja2 file that makes a prompt of each row of the input."),
    ] = None,
    format: Annotated[  # noqa: A002
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="The input's format: jsonl, csv, yaml, openai, text …; default: by its name.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name", "-n", metavar="NAME", help="The batch's name, by which it goes on; default: the input's."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FOLDER", help="Folder of results.jsonl; default: NAME-results beside the input."
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            "-j",
            min=1,
            max=1000,
            metavar="N",
            help="Sessions at a time, 1 to 1000; default: batch.concurrency, 4 unless set.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what it came to as one JSON object, in place of the results' file.")
    ] = False,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="PROVIDER/ID",
            help="A model, as provider/id or provider/id:level; again for those to fall back to. For items that "
            "name none.",
            rich_help_panel=WHO,
        ),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            "-p",
            metavar="NAME",
            help="A policy of the settings, for items that name none; default: default_policy, else `default`.",
            rich_help_panel=WHO,
        ),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(
            "--agent",
            metavar="COMMAND",
            help="The agent's command line, or `scripted`; default: agent.command of the settings, else atomic or "
            "pi on PATH.",
            rich_help_panel=WHO,
        ),
    ] = None,
    cwd: Annotated[
        Path | None,
        typer.Option(
            "--cwd",
            "-C",
            metavar="FOLDER",
            help="The folder the agent works in, for items that name none; default: this one.",
            rich_help_panel=WHO,
        ),
    ] = None,
    workspace: Annotated[
        Literal["shared", "worktree", "copy"] | None,
        typer.Option(
            "--workspace",
            "-w",
            help="Where the agent works, for items that do not say it: in that folder itself, in a git worktree of "
            "each run's own, or in a copy. Default: workspace of the settings, else shared.",
            rich_help_panel=WHO,
        ),
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", "-t", metavar="TAG", help="A tag of every run; may be repeated.", rich_help_panel=WHO),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE",
            help="Settings file in place of the project's atomic-flows.toml.",
            rich_help_panel=WHO,
        ),
    ] = None,
    slash: Annotated[
        bool,
        typer.Option("--slash", help="Let prompts that begin with / be the agent's own commands.", rich_help_panel=WHO),
    ] = False,
    shared: Annotated[
        bool,
        typer.Option(
            "--shared",
            help="Let several sessions be at work in one folder, or git repository, at once: where they only read.",
            rich_help_panel=WHO,
        ),
    ] = False,
    check: Annotated[
        str | None,
        typer.Option(
            "--check",
            metavar="COMMAND",
            help="A command that accepts an answer by exit code 0: run where the agent worked, the answer on stdin. "
            "Else the next model is told what it said. Default: each policy's, none unless set.",
            rich_help_panel=WHO,
        ),
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema",
            metavar="FILE",
            help="A JSON Schema that answers must fit, as JSON; likewise.",
            rich_help_panel=WHO,
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Check all, say what it would come to and may cost at most, and stop: nothing is spent.",
            rich_help_panel=RUN_AGAIN,
        ),
    ] = False,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            parser=some,
            metavar="N",
            help="Run at most so many items now; the same command goes on with the rest. Default: all.",
            rich_help_panel=RUN_AGAIN,
        ),
    ] = None,
    retry_failed: Annotated[
        bool,
        typer.Option(
            "--retry-failed",
            help="Run the failed items again too; the answered ones stay.",
            rich_help_panel=RUN_AGAIN,
        ),
    ] = False,
    redo: Annotated[
        bool,
        typer.Option(
            "--redo",
            help="Run all items again, the answered ones too: they are paid for again.",
            rich_help_panel=RUN_AGAIN,
        ),
    ] = False,
    new: Annotated[
        bool,
        typer.Option(
            "--new", help="Begin another edition: all items from the start, beside the old.", rich_help_panel=RUN_AGAIN
        ),
    ] = False,
    edition: Annotated[
        str | None,
        typer.Option(
            "--edition",
            metavar="NAME",
            help="The edition to go on with, or to begin; default: the last one.",
            rich_help_panel=RUN_AGAIN,
        ),
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(
            "--max-cost",
            parser=dollars,
            metavar="USD",
            help="Dollars of the edition, all items together; reaching it ends the batch with exit code 3, a larger "
            "one goes on. Default: no bound.",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            "--max-tokens",
            parser=count,
            metavar="N",
            help="Tokens of the edition, read and written, all items together; likewise.",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    on_budget: Annotated[
        Literal["finish", "stop"],
        typer.Option(
            "--on-budget",
            help="When a budget is reached: finish lets live sessions end, stop ends them at once.",
            rich_help_panel=LIMITS,
        ),
    ] = "finish",
    stop_after: Annotated[
        int | None,
        typer.Option(
            "--stop-after",
            parser=count,
            metavar="N",
            help="Stop after so many failures of one kind in a row with no answer between; 0: never. Default: "
            "batch.stop_after, 20 unless set.",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    deadline: Annotated[
        str | None,
        typer.Option(
            "--deadline",
            metavar="WHEN",
            help="Wait for cooldowns until then: a time (06:00, 2026-12-01T06:00) or a span (90m, 6h). Default: as "
            "long as it takes.",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    track: Annotated[
        Literal["session", "shard", "auto"] | None,
        typer.Option(
            "--track",
            help="What becomes a task in Prefect: each session, or each shard of 200 items; auto: sessions while they "
            "are few. Default: batch.track.",
            rich_help_panel=PREFECT,
        ),
    ] = None,
    limit_across: Annotated[
        str | None,
        typer.Option(
            "--limit-across",
            metavar="NAME[=N]",
            help="At most N sessions on all machines that name it: a global concurrency limit in Prefect, made where "
            "it is missing. Default: batch.limit_across, none unless set.",
            rich_help_panel=PREFECT,
        ),
    ] = None,
    shards_on: Annotated[
        str | None,
        typer.Option(
            "--shards-on",
            metavar="NAME[=N]",
            help="Have workers carry it out, N shards of up to 200 items at a time (4 unless given): the name of a "
            "deployment of batch-shard. Default: batch.shards_on, none unless set.",
            rich_help_panel=PREFECT,
        ),
    ] = None,
    ephemeral: Annotated[
        bool,
        typer.Option(
            "--ephemeral",
            help="A Prefect server for this batch alone, gone afterwards; default: prefect.mode of the settings.",
            rich_help_panel=PREFECT,
        ),
    ] = False,
    direct: Annotated[
        bool,
        typer.Option(
            "--direct", help="Without Prefect: no server, no pages; the records are the same.", rich_help_panel=PREFECT
        ),
    ] = False,
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
        "shared": shared or None,
        "check": check,
        "answer_schema": schema,
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
        "workspace": workspace,
        "limit_across": limit_across,
        "shards_on": shards_on,
    }
    mode: Literal["ephemeral", "direct"] | None = "ephemeral" if ephemeral else "direct" if direct else None
    asked = BatchAsked(input, given, deadline, mode, as_json)
    raise typer.Exit(foretell(asked) if dry_run else carry_out(asked))
