"""Runs for whoever only wants an answer: one call, without Prefect."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from atomic.agent import Agent
from atomic.errors import NoModelAnswered, UsageError
from atomic.models import ModelRef
from atomic.providers import key_check
from atomic.record import RunStore
from atomic.runner.execute import execute
from atomic.runner.facts import RunResult
from atomic.runner.prepare import PolicyLike, open_store, prepare
from atomic.runner.seams import OnEvent
from atomic.settings import Settings, WorkspaceMode, load_settings


async def run(
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
    store: RunStore | None = None,
    on_event: OnEvent | None = None,
    check: bool = True,
) -> RunResult:
    """Ask the models of a policy, one after another, until one answers.

    The arguments up to ``settings`` are those of :func:`prepare`; ``store`` is by default the one that the settings
    name; ``on_event`` is told what happens. With ``key`` a prompt is answered once: a second call returns the
    recorded answer.

    Raises UsageError before anything is spent, NoModelAnswered (its ``result`` holds every attempt) unless ``check``
    is False, RecordError or PlaceError where the record cannot be written.
    """
    settings = load_settings(cwd) if settings is None else settings
    request = prepare(
        prompt,
        policy=policy,
        models=models,
        agent=agent,
        cwd=cwd,
        name=name,
        key=key,
        tags=tags,
        metadata=metadata,
        slash=slash,
        workspace=workspace,
        shared=shared,
        settings=settings,
    )
    result = await execute(
        request, store=store or open_store(settings), on_event=on_event, key_is_bad=key_check(request.agent)
    )
    if check:
        raise_unanswered(result)
    return result


def run_sync(
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
    store: RunStore | None = None,
    on_event: OnEvent | None = None,
    check: bool = True,
) -> RunResult:
    """:func:`run` for code that is not asynchronous. Raises UsageError, too, where an event loop is running."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise UsageError("run_sync cannot work inside a running event loop", hint="Write `await run(…)` there.")
    return asyncio.run(
        run(
            prompt,
            policy=policy,
            models=models,
            agent=agent,
            cwd=cwd,
            name=name,
            key=key,
            tags=tags,
            metadata=metadata,
            slash=slash,
            workspace=workspace,
            shared=shared,
            settings=settings,
            store=store,
            on_event=on_event,
            check=check,
        )
    )


def raise_unanswered(result: RunResult) -> None:
    """Raise NoModelAnswered for a run that nobody answered."""
    if result.answered:
        return
    only = len({attempt.model for attempt in result.attempts}) < 2
    hint = "Give two or more models, of different providers, to fall back. " if only else ""
    raise NoModelAnswered(
        f"no model answered: {result.message}",
        result=result,
        hint=f"{hint}Everything the agent said is in {result.record}.",
    )
