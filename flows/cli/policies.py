"""`policy show`, `policy check`, and `settings schema`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.output import DIM, GREEN, RED, YELLOW, page, paint, say, write_json

if TYPE_CHECKING:
    from atomic.settings import Settings

Config = Annotated[Path | None, typer.Option("--config", help="Settings file in place of the project's.")]


def show(
    name: Annotated[str | None, typer.Argument(help="The policy; default: the one that `run` takes.")] = None,
    config: Config = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Show a policy whole: its models, its limits, and what it does on each kind of failure."""
    from dataclasses import asdict

    from atomic.policy import describe
    from atomic.runner import catalog_for, ceiling_usd, choose_policy
    from atomic.settings import load_settings

    settings = load_settings(config=config)
    policy = choose_policy(name, (), settings)
    catalog = catalog_for(settings.agent.agent(), settings)
    shown = name or settings.default_policy
    if as_json:
        kinds = [asdict(row) for row in describe(policy)]
        most = policy.limits.cost_usd or ceiling_usd(policy, catalog)
        write_json({"name": shown, **policy.model_dump(mode="json"), "most_usd": most, "kinds": kinds})
    else:
        from flows.cli.policy_page import policy_page

        page(policy_page(shown, policy, catalog))


def check(config: Config = None) -> None:
    """Check every policy of the settings: that it can be followed, that its models are known, that its budget can be
    kept and its checks be carried out. Exits with 2 where one would be refused."""
    from atomic.checks import require_sound
    from atomic.errors import EXIT_USAGE, PolicyError
    from atomic.policy import resolve_policies
    from atomic.runner import catalog_for, check_budget
    from atomic.settings import load_settings
    from atomic.text import printable

    settings = load_settings(config=config)
    policies = resolve_policies(settings.policies)
    if not policies:
        say("no policies are defined; without one, a run makes one attempt on the agent's own default model")
        return
    catalog = catalog_for(settings.agent.agent(), settings)
    refused = False
    for name, policy in policies.items():
        models = ", ".join(map(str, policy.models)) or "the agent's own default model"
        try:
            check_budget(policy, catalog.price_known)
            require_sound(policy, Path.cwd())
        except PolicyError as error:
            refused = True
            where = _where(settings, ("policy", name, *error.key.split(".")))
            say(f"{paint('error', RED)} {where}{printable(name)}: {printable(error.message)}")
            say(f"   {paint('hint', DIM)} {printable(error.hint or '')}")
        else:
            say(f"{paint('ok', GREEN)} {printable(name)}: {models}")
        for model in policy.models:
            if catalog.window(model) is None:
                say(f"   {paint('note', YELLOW)} nobody knows the window of {model}: it counts as a larger one")
        if len(policy.models) == 1:
            say(f"   {paint('note', YELLOW)} one model only: there is nothing to fall back to")
    if refused:
        raise typer.Exit(EXIT_USAGE)


def schema() -> None:
    """Print the JSON Schema of atomic-flows.toml, by which editors complete and check it.

    Those that know Taplo's comments find it by a first line `#:schema FILE`.
    """
    from atomic.settings import settings_schema

    write_json(settings_schema())


def _where(settings: Settings, key: tuple[str, ...]) -> str:
    """File and line of a key, before what is said of it; nothing where it stands in no file."""
    from atomic.settings import read_file

    layers = (read_file(file) for file in reversed(settings.sources))
    return next((f"{layer.place(key).text}: " for layer in layers if layer.holds(key)), "")
