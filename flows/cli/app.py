"""The commands and how they are grouped in the help."""

from __future__ import annotations

from typing import Annotated

import typer

from flows.cli import history, history_stats, history_upkeep, policies, reading
from flows.cli.apply import apply
from flows.cli.batch import batch
from flows.cli.control import pause, resume
from flows.cli.dashboard import dashboard
from flows.cli.demo import demo
from flows.cli.doctor import doctor
from flows.cli.init import init
from flows.cli.models import models
from flows.cli.prompts import PromptCommand
from flows.cli.run import run
from flows.cli.schedules import serve
from flows.cli.serving import down, status, stop, up
from flows.cli.trust import trust

RUN, LOOK, SERVER, CONFIGURATION = "Run", "Look", "Server", "Configuration"

app = typer.Typer(
    help="Run prompts through a coding agent unattended: fallback between models, every byte on record.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 answered · 1 failed · 2 usage or configuration · 3 budget · 130 interrupted · 143 terminated",
)
record = typer.Typer(help="The files of a run.", no_args_is_help=True)
runs = typer.Typer(help="What has been run.", no_args_is_help=True)
policy = typer.Typer(help="The models in order, and what is done on each kind of failure.", no_args_is_help=True)
settings = typer.Typer(help="The file atomic-flows.toml.", no_args_is_help=True)

app.command(rich_help_panel=RUN, cls=PromptCommand)(run)
app.command(rich_help_panel=RUN)(batch)
app.command(rich_help_panel=RUN)(serve)
app.command(rich_help_panel=RUN)(pause)
app.command(rich_help_panel=RUN)(resume)
app.command(rich_help_panel=RUN)(stop)
app.command(rich_help_panel=RUN)(demo)
app.command(rich_help_panel=LOOK)(reading.explain)
app.command(rich_help_panel=LOOK)(apply)
record.command()(reading.cat)
app.add_typer(record, name="record", rich_help_panel=LOOK)
runs.command("list")(history.list_)
runs.command()(history.show)
runs.command()(history_stats.stats)
runs.command()(history_upkeep.export)
runs.command()(history_upkeep.rebuild)
runs.command()(history_upkeep.prune)
app.add_typer(runs, name="history", rich_help_panel=LOOK)
app.command(rich_help_panel=LOOK)(dashboard)
app.command(rich_help_panel=SERVER)(up)
app.command(rich_help_panel=SERVER)(down)
app.command(rich_help_panel=SERVER)(status)
policy.command()(policies.show)
policy.command()(policies.check)
app.add_typer(policy, name="policy", rich_help_panel=CONFIGURATION)
settings.command()(policies.schema)
app.add_typer(settings, name="settings", rich_help_panel=CONFIGURATION)
app.command(rich_help_panel=CONFIGURATION)(init)
app.command(rich_help_panel=CONFIGURATION)(models)
app.command(rich_help_panel=CONFIGURATION)(doctor)
app.command(rich_help_panel=CONFIGURATION)(trust)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"atomic-flows {version('atomic-flows')}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options that stand before a command."""
