"""`run`: one prompt through a policy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from flows.cli import completion
from flows.cli.numbers import count, dollars, seconds


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
    workspace: Literal["shared", "worktree", "copy"] | None = None
    shared: bool = False
    mode: Literal["auto", "local", "ephemeral", "direct"] | None = None  # of [prefect]
    max_cost: float | None = None
    max_tokens: int | None = None
    idle: float | None = None
    total: float | None = None
    check: str | None = None
    schema: Path | None = None


WHO, FINDING, LIMITS, PREFECT = "Who answers", "Record and output", "Limits", "Prefect"


def run(
    prompt: Annotated[
        str, typer.Argument(metavar="PROMPT|-|@FILE", help="The prompt; - reads it from stdin, @FILE from a file.")
    ],
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="PROVIDER/ID",
            help="A model, as provider/id or provider/id:level; give it again for those to fall back to, in order. "
            "Takes the place of the policy's models.",
            autocompletion=completion.models,
            rich_help_panel=WHO,
        ),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            "-p",
            metavar="NAME",
            help="The policy of the settings that says what is done on each failure; default: default_policy, else "
            "`default`. `policy show` prints it.",
            autocompletion=completion.policies,
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
            help="The folder the agent works in, and whose settings hold; default: this one.",
            rich_help_panel=WHO,
        ),
    ] = None,
    workspace: Annotated[
        Literal["shared", "worktree", "copy"] | None,
        typer.Option(
            "--workspace",
            "-w",
            help="shared: work in that folder itself; worktree: in a git worktree of the run's own, which goes at the "
            "end, its changes kept as a patch for `apply`; copy: the same for a folder without a repository. Default: "
            "workspace of the settings, else shared.",
            rich_help_panel=WHO,
        ),
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
        typer.Option(
            "--slash",
            help="Let a prompt that begins with / be one of the agent's own commands; it is refused otherwise.",
            rich_help_panel=WHO,
        ),
    ] = False,
    shared: Annotated[
        bool,
        typer.Option(
            "--shared",
            help="Run even while another session is at work in the folder, or elsewhere in its git repository; it is "
            "refused otherwise.",
            rich_help_panel=WHO,
        ),
    ] = False,
    check: Annotated[
        str | None,
        typer.Option(
            "--check",
            metavar="COMMAND",
            help="A command that accepts the answer by exit code 0: run where the agent worked, the answer on stdin. "
            "Else the next model is told what it said. Default: the policy's, none unless set.",
            rich_help_panel=WHO,
        ),
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema",
            metavar="FILE",
            help="A JSON Schema that the answer must fit, as JSON; likewise.",
            rich_help_panel=WHO,
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name", "-n", metavar="NAME", help="A name to find the run by in `history`.", rich_help_panel=FINDING
        ),
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option(
            "--tag",
            "-t",
            metavar="TAG",
            help="A tag of the run, here and in Prefect; may be repeated.",
            rich_help_panel=FINDING,
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            metavar="KEY",
            help="Buy the answer once: a later run with the same key gives the recorded one and starts nothing.",
            rich_help_panel=FINDING,
        ),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print the whole result as one JSON object in place of the answer.",
            rich_help_panel=FINDING,
        ),
    ] = False,
    max_cost: Annotated[
        float | None,
        typer.Option(
            "--max-cost",
            parser=dollars,
            metavar="USD",
            help="Dollars of the run, all attempts together; reaching it stops the run with exit code 3. 0: no bound. "
            "Default: the policy's, none unless set.",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            "--max-tokens",
            parser=count,
            metavar="N",
            help="Tokens of the run, read and written, all attempts together; likewise.",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    idle: Annotated[
        float | None,
        typer.Option(
            "--idle",
            parser=seconds,
            metavar="SECONDS",
            help="Silence of a session while no tool runs; more is `stalled`, and the policy goes on. 0: no bound. "
            "Default: the policy's, 900 unless set.",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    total: Annotated[
        float | None,
        typer.Option(
            "--timeout",
            parser=seconds,
            metavar="SECONDS",
            help="Length of one session; more is `timeout`, on which a run stops by default. 0: no bound. Default: "
            "the policy's, none unless set.",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    ephemeral: Annotated[
        bool,
        typer.Option(
            "--ephemeral",
            help="A Prefect server for this run alone, gone afterwards; default: prefect.mode of the settings.",
            rich_help_panel=PREFECT,
        ),
    ] = False,
    direct: Annotated[
        bool,
        typer.Option(
            "--direct",
            help="Without Prefect: no server, no page; the record is the same.",
            rich_help_panel=PREFECT,
        ),
    ] = False,
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
        workspace=workspace,
        shared=shared,
        mode="ephemeral" if ephemeral else "direct" if direct else None,
        max_cost=max_cost,
        max_tokens=max_tokens,
        idle=idle,
        total=total,
        check=check,
        schema=schema,
    )
    raise typer.Exit(carry_out(asked).code)
