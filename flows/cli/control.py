"""`pause`, `resume`: a batch that runs elsewhere, from any terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Config = Annotated[Path | None, typer.Option("--config", help="Settings file in place of the project's.")]
Name = Annotated[str, typer.Argument(metavar="BATCH", help="The batch's name; `atomic-flows status` lists them.")]


def pause(batch: Name, config: Config = None) -> None:
    """Begin no further session of a batch until `resume`. What is live goes on to its end."""
    from atomic.text import one_line
    from flows.cli.batches import ask
    from flows.cli.output import say

    edition = ask(batch, "pause", config)
    say(f"{one_line(batch)} begins no further session; {edition.counts.left} items wait: atomic-flows resume {batch}")


def resume(batch: Name, config: Config = None) -> None:
    """Go on with a batch that was paused. One that has ended goes on by the command that started it."""
    from atomic.text import one_line
    from flows.cli.batches import ask
    from flows.cli.output import say

    edition = ask(batch, "run", config)
    say(f"{one_line(batch)} goes on: {edition.counts.left} items left")
