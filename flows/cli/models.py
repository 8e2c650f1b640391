"""`models`: windows, prices, and whether they can be reached."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from flows.model_list import ModelRow


def models(
    model: Annotated[
        list[str] | None, typer.Argument(help="provider/id; default: those of the policies and of models.json.")
    ] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="The agent's command.", metavar="COMMAND")] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Ask no provider.")] = False,
    config: Annotated[Path | None, typer.Option("--config", help="Settings file in place of the project's.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Show what is known of models: window, price, and whether the provider is there and takes the key.

    Providers are asked for their lists; no model is called, nothing is spent.
    """
    import asyncio
    from dataclasses import replace

    from atomic.agent import Agent
    from atomic.models import ModelRef
    from atomic.policy import resolve_policies
    from atomic.runner import catalog_for
    from atomic.settings import load_settings
    from flows.cli.output import page, say, write_json
    from flows.model_list import known_models, list_models

    settings = load_settings(config=config)
    program = settings.agent.agent()
    if agent is not None:
        program = replace(program, command=Agent.parse(agent).command)
    catalog = catalog_for(program, settings)
    if model:
        asked = [ModelRef.parse(name) for name in model]
    else:
        asked = known_models((policy.models for policy in resolve_policies(settings.policies).values()), catalog)
    rows = asyncio.run(list_models(asked, program, catalog, ask=not offline))
    if as_json:
        write_json({"models": [row.model_dump(mode="json", by_alias=True) for row in rows]})
    elif rows:
        page(_lines(rows))
    else:
        say("no models are named in the settings or in the agent's models.json; `atomic-flows init` finds some")


def _lines(rows: list[ModelRow]) -> list[str]:
    import sys

    from atomic.text import one_line
    from flows.cli.figures import count
    from flows.cli.tables import Cell, Column, table

    columns = (
        Column("model", least=26, cut="middle"),
        Column("window", right=True),
        Column("$/M in", right=True),
        Column("$/M out", right=True),
        Column("provider", fold=True),
    )
    lines: list[tuple[Cell, ...]] = []
    for row in rows:
        window = "unknown" if row.window is None else count(row.window)
        prices = ("unknown",) * 2 if row.price is None else (f"{row.price.input:g}", f"{row.price.output:g}")
        lines.append((one_line(row.model), window, *prices, one_line(_reach(row))))
    return table(columns, lines, sys.stdout)


def _reach(row: ModelRow) -> str:
    if row.reach is None:
        return "not asked"
    words = row.reach.replace("_", " ") + (", but does not list it" if row.listed is False else "")
    key = f" with {row.key}" if row.key else ""
    return f"{words}{key}{f': {row.said}' if row.said else ''}"
