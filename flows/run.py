"""A prompt as a Prefect flow: ``run_prompt``."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from prefect.client.orchestration import PrefectClient
from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext
from prefect.logging import get_logger
from prefect.states import Cancelled, Completed, Failed

from atomic.errors import AtomicError, NoModelAnswered, RunCancelled
from atomic.providers import key_check
from atomic.runner import RunRequest, RunResult, execute, open_store, prepare, raise_unanswered
from atomic.settings import WorkspaceMode, load_settings
from atomic.text import Masker, one_line
from flows.artifacts import Teller, run_artifact
from flows.attempts import DEFAULT_MODEL, TaskAttempts, masker_of, run_blocking
from flows.begun import unmarked, without_mark
from flows.calls import Call, take_over, watching
from flows.cancel import Stopping, signals_to, watched
from flows.dashboard.presence import dashboard_address
from flows.history.telling import both, telling
from flows.logs import hush
from flows.prompt_flow import PromptFlow
from flows.recovery import on_ended_from_outside

__all__ = ["PromptFlow", "run_prompt", "run_prompt_sync", "watching"]

MESSAGE_LIMIT = 1000  # characters of a state's message


async def _run_prompt(
    prompt: str = "",
    prompt_file: str | None = None,
    policy: str | dict[str, Any] | None = None,
    models: list[str] | None = None,
    agent: str | None = None,
    cwd: str | None = None,
    name: str | None = None,
    key: str | None = None,
    tags: list[str] | None = None,
    metadata: dict[str, Any] | None = None,
    slash: bool = False,
    workspace: WorkspaceMode | None = None,
    shared: bool | None = None,
    config: str | None = None,
) -> State[RunResult]:
    """Ask the models of a policy, one after another, until one answers.

    Args:
        prompt: What the agent should do.
        prompt_file: A file that holds the prompt, in its place.
        policy: The name of a policy, or a policy.
        models: Models `provider/id[:level]` in order, in the place of the policy's.
        agent: The agent's command line; by default as the settings say.
        cwd: The folder in which the agent works.
        name: A name for this run; its attempts are found under the artifact `run-<name>`.
        key: A prompt with a key is answered once: a second run with it returns the recorded answer.
        tags: Tags for the record and for the flow run.
        metadata: Anything, for the record.
        slash: Allow a prompt that begins with `/`, the agent's own commands and templates.
        workspace: `shared` for the folder itself, `worktree` or `copy` for one of the run's own.
        shared: Allow other sessions in the same folder meanwhile; by default as the settings say.
        config: A settings file, in the place of the project's.
    """
    try:
        call = take_over() or _prepared(
            Path(prompt_file) if prompt_file else prompt,
            config,
            policy=policy,
            models=models or (),
            agent=agent,
            cwd=cwd,
            name=name,
            key=key,
            tags=tags or (),
            metadata=metadata,
            slash=slash,
            workspace=workspace,
            shared=shared,
        )
        with unmarked():
            await _carry_out(call)
    except AtomicError as error:
        return Failed(message=one_line(Masker.of(os.environ)(error.message), MESSAGE_LIMIT), data=error)
    return _final_state(call)


def _prepared(prompt: str | Path, config: str | None, **given: Any) -> Call:
    settings = load_settings(given["cwd"], config)
    request = prepare(prompt, settings=settings, **given)
    return Call(settings, request, open_store(settings), pages=dashboard_address(settings))


async def _carry_out(call: Call) -> None:
    """Execute the run, and tell Prefect what there is to tell."""
    context = FlowRunContext.get()
    assert context is not None and context.flow_run is not None, "this is a flow run"  # noqa: PT018
    flow_run_id = context.flow_run.id
    call.flow_run_id = str(flow_run_id)
    hush()
    stopping = Stopping()
    async with Teller(masker_of(call.request), pages=call.pages) as teller:
        if call.request.name:
            name = one_line(teller.masker(call.request.name))
            teller.tell(lambda client: client.update_flow_run(flow_run_id, name=name))
        try:
            with signals_to(stopping, call.handlers):
                async with (
                    watched(flow_run_id, stopping),
                    telling(call.settings, call.store, call.request, warn=get_logger("atomic_flows").warning) as told,
                ):
                    call.result = await execute(
                        call.request,
                        store=call.store,
                        run_attempt=TaskAttempts(teller),
                        on_event=both(call.hear, told.hear),
                        flow_run_id=call.flow_run_id,
                        cooldowns=told.cooldowns,
                        key_is_bad=key_check(call.request.agent),
                    )
        except asyncio.CancelledError:
            call.cancelled = True
            call.stopped = stopping.by
        if call.result is not None:
            tags = _tags(call.request, call.result, teller.masker)
            teller.tell(lambda client: _tag(client, tags, context))
            teller.tell(run_artifact(call.result, teller, flow_run_id=flow_run_id))


def _final_state(call: Call) -> State[RunResult]:
    result = call.result
    if result is None:
        return Cancelled(message="cancelled before it began")
    if result.answered:
        return Completed(message=f"answered by {one_line(result.answered_by or DEFAULT_MODEL)}", data=result)
    message = one_line(masker_of(call.request)(result.message), MESSAGE_LIMIT)
    if call.cancelled:
        return Cancelled(message=message, data=RunCancelled(message, result=result))
    try:
        raise_unanswered(result)
    except NoModelAnswered as error:
        return Failed(message=message, data=error)
    raise AssertionError("an answered run was handled above")


def _tags(request: RunRequest, result: RunResult, masker: Masker) -> list[str]:
    """The user's own, the models that were asked, the kinds of their failures, and who answered."""
    models = [one.model for one in result.attempts if one.model]
    kinds = [str(one.kind) for one in result.attempts if one.kind]
    answered = [f"answered_by:{result.answered_by}"] if result.answered_by else []
    return [one_line(masker.data(tag)) for tag in (*request.tags, *models, *kinds, *answered)]


async def _tag(client: PrefectClient, tags: list[str], context: FlowRunContext) -> None:
    """Add tags; those that are there stay."""
    assert context.flow_run is not None, "this is a flow run"
    there = (await client.read_flow_run(context.flow_run.id)).tags
    await client.update_flow_run(context.flow_run.id, tags=list(dict.fromkeys([*sorted(without_mark(there)), *tags])))


# A deployment finds the flow by its function's name.
_run_prompt.__name__ = _run_prompt.__qualname__ = "run_prompt"

run_prompt = PromptFlow(
    _run_prompt,
    name="run-prompt",
    persist_result=False,
    on_cancellation=[on_ended_from_outside],
    on_crashed=[on_ended_from_outside],
)


def run_prompt_sync(prompt: str | Path, **given: Any) -> RunResult:
    """``run_prompt`` for code that is not asynchronous, within a flow or outside of one. Raises as it does, and
    UsageError where an event loop is running."""
    result: RunResult = run_blocking(run_prompt(prompt, **given), "run_prompt")
    return result
