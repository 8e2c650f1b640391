"""`demo`: the whole job in a few seconds, without a key."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

MODELS = ("scripted/overflow", "other/rate-limit", "third/ok")
PROMPT = "Name the three risks of running a coding agent unattended."


def demo(
    direct: Annotated[bool, typer.Option("--direct", help="Without Prefect: there at once.")] = False,
) -> None:
    """Show a fallback: one model overflows, the next is rate limited, the third answers.

    The agent is the scripted one that comes along: no key is needed, and no model is asked.
    """
    from flows.cli.output import BOLD, DIM, paint, say
    from flows.cli.run import Asked
    from flows.cli.running import carry_out
    from flows.cli.summary import attempts_table

    mode: Literal["direct", "ephemeral"] = "direct" if direct else "ephemeral"
    command = f"atomic-flows run --{mode} --agent scripted {' '.join(f'-m {model}' for model in MODELS)}"
    say(paint("A scripted agent plays three models: no key is used, no model is asked.", BOLD))
    say(paint(f"This is: {command} '{PROMPT}'", DIM))
    asked = Asked(prompt=PROMPT.encode(), models=MODELS, agent="scripted", name="demo", mode=mode)
    outcome = carry_out(asked)
    if outcome.result is not None:
        for line in ("", *attempts_table(outcome.result)):
            say(line)
    raise typer.Exit(outcome.code)
