"""`serve`: schedules, for as long as it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def serve(
    file: Annotated[Path, typer.Argument(metavar="SCHEDULES.toml", help="The schedules.")],
    config: Annotated[Path | None, typer.Option("--config", help="Settings file in place of the project's.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the file, say when each would be due, and stop.")
    ] = False,
) -> None:
    """Carry out batches and prompts on schedules, as Prefect deployments.

    Runs until Ctrl-C, which stops what is at work: answers are kept, and the next start goes on with the edition. What
    was due while nobody served is said at the start. Schedules and parameters can be changed in Prefect's pages.
    """
    from flows.cli.serving_schedules import foretell, serve_file

    if dry_run:
        foretell(file, config)
        return
    raise typer.Exit(serve_file(file, config))
