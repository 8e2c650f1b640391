"""From what a caller gives to a run that can start: every check before anything is spent."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import orjson

from atomic.agent import Agent
from atomic.checks import anchored, require_sound
from atomic.errors import ModelRefError, PlaceError, PolicyError, UsageError
from atomic.models import ModelCatalog, ModelRef, Price
from atomic.models.agent_folder import agent_folder, read_agent_models
from atomic.models.ref import LEVELS
from atomic.policy import FallbackPolicy, resolve_policies
from atomic.policy.problems import unknown_policy
from atomic.record import RunStore
from atomic.runner.facts import RunRequest
from atomic.runner.prompt import read_prompt
from atomic.scripted import usage
from atomic.session import check_overlay, masker_for
from atomic.settings import Settings, WorkspaceMode, load_settings
from atomic.settings.problems import nearest
from atomic.workspace import plan_workspace

PER_MILLION = 1_000_000  # tokens, by which prices are told
PolicyLike = str | Mapping[str, Any] | FallbackPolicy
_SCRIPTED_PRICE = Price(
    input=usage.INPUT_PRICE * PER_MILLION,
    output=usage.OUTPUT_PRICE * PER_MILLION,
    cache_read=usage.CACHE_READ_PRICE * PER_MILLION,
)
DEFAULT_POLICY = "default"  # the one name that is known where nobody defined it


def prepare(
    prompt: str | bytes | Path,
    *,
    policy: PolicyLike | None = None,
    models: Sequence[str | ModelRef] = (),
    agent: Agent | str | None = None,
    cwd: str | Path | None = None,
    name: str | None = None,
    key: str | None = None,
    tags: Sequence[str] = (),
    metadata: Mapping[str, Any] | None = None,
    slash: bool = False,
    workspace: WorkspaceMode | None = None,
    shared: bool | None = None,
    settings: Settings | None = None,
) -> RunRequest:
    """Check a run whole. ``policy`` is a name from the settings, a mapping as in TOML, or an object; ``models`` take
    the place of its models. ``settings`` are by default those that hold for ``cwd``; ``agent`` is the program
    alone, whose flags and environment come from the settings too, unless a whole Agent is given. ``slash`` allows a
    prompt that begins with '/', the agent's own commands and templates. ``workspace``: `shared` for the folder itself,
    `worktree` or `copy` for one of the run's own; None: as the settings say. ``shared``: whether other sessions may
    be at work in the folder meanwhile; None: as the settings say.

    Raises UsageError: PromptError, PolicyError, ModelRefError, AgentNotFound, PlaceError, SettingsError or
    WorkspaceError.
    """
    data = read_prompt(prompt, slash=slash)
    folder = _folder(cwd)
    if settings is None:
        settings = load_settings(folder)
    chosen = anchored(choose_policy(policy, models, settings))
    require_sound(chosen, folder)
    program = _agent(agent, settings).resolve()
    check_overlay(program)
    catalog = catalog_for(program, settings)
    check_levels(chosen, catalog)
    check_budget(chosen, catalog.price_known)
    return RunRequest(
        prompt=data,
        policy=chosen,
        agent=program,
        cwd=folder,
        workspace=plan_workspace(workspace_mode(workspace, settings), folder, settings.workspace_links),
        catalog=catalog,
        name=_word("name", name),
        key=_word("key", key),
        tags=tuple(tags),
        metadata=_plain(metadata or {}),
        shared=settings.shared if shared is None else shared,
    )


def choose_policy(policy: PolicyLike | None, models: Sequence[str | ModelRef], settings: Settings) -> FallbackPolicy:
    """The policy that is meant, with ``models`` in the place of its own where any are given. Raises PolicyError."""
    chosen = _policy(policy, settings)
    if not models:
        return chosen
    return FallbackPolicy.model_validate({**chosen.model_dump(mode="json"), "models": [str(model) for model in models]})


def catalog_for(agent: Agent, settings: Settings) -> ModelCatalog:
    """What is known of the models that this agent calls. All models of the scripted agent cost what it writes into its
    stream, so that budgets can be tried without a key."""
    own = read_agent_models(agent_folder(agent.env, agent.command))
    return ModelCatalog(own, settings.models, otherwise=_SCRIPTED_PRICE if agent.scripted else None)


def check_levels(policy: FallbackPolicy, catalog: ModelCatalog) -> None:
    """Refuse a mistyped thinking level, which the agent would take for a part of the model's id. Raises
    ModelRefError."""
    for model in policy.models:
        level = model.meant_level
        if level is not None and not catalog.names(model):
            head, _, tail = str(model).rpartition(":")
            raise ModelRefError(
                f"{model}: {tail!r} is no thinking level; did you mean {head}:{level}?",
                hint=f"The levels are {', '.join(LEVELS)}. If the id of the model ends so, give it a table in the "
                f'settings: [model."{model.name}"].',
                text=str(model),
                nearest=level,
            )


def check_budget(policy: FallbackPolicy, price_known: Callable[[ModelRef], bool]) -> None:
    """Refuse a budget in dollars that could not be kept: a model's price is unknown and no token budget stands
    beside it. Raises PolicyError with ``models``."""
    if not policy.limits.cost_usd or policy.limits.tokens:
        return
    unpriced = [str(model) for model in policy.models if not price_known(model)]
    if policy.models and not unpriced:
        return
    whose = ", ".join(unpriced) or "the agent's own default model"
    raise PolicyError(
        f"limits.cost_usd = {policy.limits.cost_usd:g} cannot be kept: nobody knows the price of {whose}",
        hint=f"Set limits.tokens beside it, or write down the price: {price_table(unpriced)} in the settings, or the "
        "model's cost in the agent's models.json. `atomic-flows models` shows whose price is known.",
        key="limits.cost_usd",
        models=unpriced,
    )


def price_table(models: Sequence[str]) -> str:
    """The table of the settings in which the first of these models can be given a price, as TOML on one line."""
    name = ModelRef.parse(models[0]).name if models else "provider/id"
    return f'[model."{name}"] price = {{ input = USD, output = USD }} (per million tokens)'


def open_store(settings: Settings) -> RunStore:
    """The store of records that the settings name. Raises PlaceError."""
    record = settings.record
    return RunStore(
        settings.records,
        home=settings.home,
        spool=record.spool,
        fsync=record.fsync,
        level=record.level,
        redact=masker_for(settings.agent.agent()) if record.redact else None,
    )


def _policy(policy: PolicyLike | None, settings: Settings) -> FallbackPolicy:
    if isinstance(policy, FallbackPolicy):
        return policy
    named = resolve_policies(settings.policies)
    if isinstance(policy, Mapping):
        return resolve_policies({**named, "given": policy})["given"]
    name = settings.default_policy if policy is None else policy
    if name not in named and name != DEFAULT_POLICY:
        raise unknown_policy(name, {DEFAULT_POLICY: None, **named})
    return named.get(name, FallbackPolicy())


def _agent(agent: Agent | str | None, settings: Settings) -> Agent:
    if isinstance(agent, Agent):
        return agent
    own = settings.agent.agent()
    return own if agent is None else replace(own, command=Agent.parse(agent).command)


def _folder(cwd: str | Path | None) -> Path:
    # Not by methods of `Path`, which refuse users that there are not, and names that are too long.
    folder = Path(os.path.expanduser(cwd or "."))  # noqa: PTH111
    if not os.path.isdir(folder):  # noqa: PTH112
        reason = "it is not a folder" if os.path.exists(folder) else "there is no such folder"  # noqa: PTH110
    elif not os.access(folder, os.R_OK | os.X_OK):
        reason = "it may not be entered"
    else:
        return folder.resolve()
    hint = "Make the folder, or give another one (--cwd)."
    raise PlaceError(f"the agent cannot work in {folder}: {reason}", hint=hint, path=str(folder), reason=reason)


def workspace_mode(given: WorkspaceMode | None, settings: Settings) -> WorkspaceMode:
    """The mode that is meant; None: as the settings say. Raises UsageError."""
    modes = get_args(WorkspaceMode)
    if given is not None and given not in modes:
        meant = nearest(given, modes)
        raise UsageError(
            f"there is no workspace {given!r}",
            hint=f"Did you mean {meant}?" if meant else f"There are: {', '.join(modes)}.",
            nearest=meant,
        )
    return given or settings.workspace


def _word(what: str, text: str | None) -> str | None:
    if text is not None and (not text.strip() or not text.isprintable()):
        raise UsageError(f"{what} = {text!r} is blank or holds control codes", hint=f"Give a {what} that can be read.")
    return text


def _plain(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata as plain data, as the record will hold it. Raises UsageError."""
    try:
        return dict(orjson.loads(orjson.dumps(dict(metadata))))
    except TypeError as error:
        raise UsageError(
            f"metadata cannot be written as JSON: {error}", hint="Give text, numbers, lists, tables."
        ) from error
