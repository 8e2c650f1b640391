"""From what a caller gives to a batch that can start: every check before anything is spent or written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from atomic.agent import Agent
from atomic.checks import laid_over, require_sound
from atomic.errors import FolderBusy, UsageError, WorkspaceError
from atomic.models import ModelRef
from atomic.policy import FallbackPolicy
from atomic.runner import PolicyLike, check_budget, check_levels, choose_policy, open_store, prepare
from atomic.runner.prepare import DEFAULT_POLICY, workspace_mode
from atomic.settings import Settings, WorkspaceMode, load_settings
from atomic.text import slug
from flows.batch import budget as budgets
from flows.batch.across import SharedLimit
from flows.batch.facts import Asked, BatchRequest, OnBudget
from flows.batch.folders import require_apart, whole_folders
from flows.batch.pool import ShardsOn, require_shareable
from flows.batch.results import check_output
from flows.batch.tracking import Track
from flows.inputs import Checked, Choice
from flows.inputs import check as check_input


def prepare_batch(
    input: str | Path,  # noqa: A002 - what it is called everywhere
    *,
    name: str | None = None,
    output: str | Path | None = None,
    template: str | Path | None = None,
    format: str | None = None,  # noqa: A002
    policy: PolicyLike | None = None,
    models: Sequence[str | ModelRef] = (),
    agent: Agent | str | None = None,
    cwd: str | Path | None = None,
    tags: Sequence[str] = (),
    metadata: Mapping[str, Any] | None = None,
    slash: bool = False,
    shared: bool | None = None,
    check: str | Sequence[str] | None = None,
    answer_schema: str | Path | None = None,
    edition: str | None = None,
    new: bool = False,
    retry_failed: bool = False,
    redo: bool = False,
    limit: int | None = None,
    concurrency: int | None = None,
    max_cost: float | None = None,
    max_tokens: int | None = None,
    on_budget: OnBudget = "finish",
    stop_after: int | None = None,
    deadline: float | None = None,
    track: Track | None = None,
    workspace: WorkspaceMode | None = None,
    limit_across: str | None = None,
    shards_on: str | None = None,
    config: str | Path | None = None,
    settings: Settings | None = None,
) -> BatchRequest:
    """Check a batch whole.

    ``name`` is by default that of the input's file; ``output`` is the folder of the results, by default
    ``<name>-results`` beside the input. ``policy`` and ``models`` hold for the items that name none of their own.
    ``shared``: whether several of its sessions may be at work in one folder. ``check`` and ``answer_schema`` take the
    place of those of every policy.
    ``max_cost`` (USD) and ``max_tokens`` bound the edition; ``deadline`` (seconds since the epoch) is when waiting for
    cooldowns is given up; ``limit_across`` (``NAME=N``) is a global concurrency limit of Prefect's that sessions of all
    machines share; ``shards_on`` (``NAME`` or ``NAME=N``) the deployment of ``batch-shard`` whose workers carry the
    shards out, N at a time. None: what the settings say. ``workspace`` is that of items that name
    none.

    Raises UsageError: InputError with all problems of the input, or those of :func:`atomic.prepare`.
    """
    path = Path(input).expanduser()
    settings = load_settings(cwd, config) if settings is None else settings
    form = prepare(
        "-",
        policy=policy,
        models=models,
        agent=agent,
        cwd=cwd,
        tags=tags,
        metadata=metadata,
        shared=shared,
        workspace="shared",  # it is no run itself
        settings=settings,
    )
    named = _name(path.stem if name is None else name)
    checked = check_input(
        path,
        known_policies={DEFAULT_POLICY, *settings.policies},
        base_cwd=form.cwd,
        template=None if template is None else Path(template).expanduser(),
        format=format,
        slash=slash,
    )
    checked.require_sound()
    policies = {
        choice: laid_over(one, check, answer_schema)
        for choice, one in _policies(checked, form.policy, settings).items()
    }
    folders = whole_folders(checked.folders, form.cwd)
    for chosen in {id(one): one for one in policies.values()}.values():
        check_levels(chosen, form.catalog)
        check_budget(chosen, form.catalog.price_known)
        for each in folders:
            require_sound(chosen, each)
    budget = budgets.Budget(_bound("max_cost", max_cost), int(_bound("max_tokens", max_tokens)))
    budgets.check_budget(budget, list(policies.values()), form.catalog.price_known)
    folder = path.parent / f"{slug(named)}-results" if output is None else Path(output).expanduser()
    folder = folder.absolute()
    check_output(folder, named)
    own = settings.batch
    at_once = own.concurrency if concurrency is None else _at_least("concurrency", concurrency, 1)
    mode = workspace_mode(workspace, settings)
    in_place = whole_folders(checked.in_place(mode), form.cwd)
    if in_place and not form.shared:
        require_apart(in_place, at_once if limit is None else min(at_once, limit))
    across = limit_across or own.limit_across
    request = BatchRequest(
        name=named,
        checked=checked,
        folders=tuple(in_place),
        slash=slash,
        output=folder,
        form=form,
        policies=policies,
        budget=budget,
        asked=Asked(
            edition=edition,
            new=new,
            retry_failed=retry_failed,
            redo=redo,
            limit=None if limit is None else _at_least("limit", limit, 1),
            on_budget=on_budget,
            deadline=deadline,
            stop_after=own.stop_after if stop_after is None else _at_least("stop_after", stop_after, 0),
            concurrency=at_once,
            track=track or own.track,
            limit_across=SharedLimit.parse(across) if across else None,
            shards_on=_shards_on(
                shards_on or own.shards_on, at_once, own.shares, agent, shared=form.shared or not in_place
            ),
        ),
        settings=settings,
        store=open_store(settings),
        workspace=mode,
        agent=agent if isinstance(agent, str) else None,
        config=None if config is None else Path(config).absolute(),
    )
    _check_places(request)
    return request


def _shards_on(
    text: str | None, at_once: int, shares: Mapping[str, int], agent: Agent | str | None, *, shared: bool
) -> ShardsOn | None:
    """The deployment that is asked for, with no more shards than sessions ``at_once``. Raises UsageError where they
    could not keep to what holds for the batch. ``shared``: whether sessions may be at work in one folder."""
    if not text:
        return None
    given = ShardsOn.parse(text)
    asked = replace(given, shards=min(given.shards, at_once))
    require_shareable(asked, shares)
    if isinstance(agent, Agent):
        raise UsageError(
            "an Agent object cannot be handed on to workers", hint="give its command line, as text", key="agent"
        )
    if not shared and asked.shards > 1:
        raise FolderBusy(
            f"{asked.shards} shards at a time would be at work in the same folders, and get in each other's way",
            hint=f"one at a time (--shards-on {asked.name}=1), --shared where they only read, or --workspace worktree",
            what=f"{asked.shards} shards",
        )
    return asked


def _check_places(request: BatchRequest) -> None:
    """Raises WorkspaceError, with the line of the input, where an item's workspace cannot be made."""
    for place, line in request.checked.lines.items():
        try:
            request.plan(place.cwd, place.workspace)
        except WorkspaceError as error:
            if place.cwd is None and place.workspace is None:
                raise
            where = f"{request.checked.path}:{line}"
            raise WorkspaceError(f"{where}: {error.message}", hint=error.hint, line=line, **error.fields) from error


def _policies(checked: Checked, base: FallbackPolicy, settings: Settings) -> dict[Choice, FallbackPolicy]:
    """The policy of each choice that items make: what an item says comes before what the batch says."""
    found = {}
    for choice in checked.choices:
        if choice.policy is None:
            found[choice] = choose_policy(base, choice.models, settings) if choice.models else base
        else:
            found[choice] = choose_policy(choice.policy, choice.models, settings)
    return found


def _name(name: str) -> str:
    if not name.strip() or not name.isprintable() or "/" in name:
        raise UsageError(
            f"the batch's name {name!r} is blank, or holds control codes or '/'", hint="Give one by --name."
        )
    return name


def _bound(what: str, value: float | None) -> float:
    if value is not None and not 0 <= value < float("inf"):
        raise UsageError(f"{what} = {value} is no bound", hint="Give a number from 0 on; 0 means none.")
    return value or 0


def _at_least(what: str, value: int, least: int) -> int:
    if value < least:
        raise UsageError(f"{what} = {value} makes no sense", hint=f"Give a number from {least} on.")
    return value
