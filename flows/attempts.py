"""Attempts as Prefect tasks."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext, TaskRunContext
from prefect.logging import get_logger
from prefect.states import Cancelled, Completed, Failed

from atomic.agent import Agent
from atomic.errors import AtomicError, UsageError
from atomic.models import ModelRef
from atomic.policy import FallbackPolicy
from atomic.providers import key_check
from atomic.record import AttemptRecord
from atomic.runner import RunRequest, execute, open_store, prepare
from atomic.session import AttemptSpec, Progress, masker_for, run_attempt
from atomic.settings import load_settings
from atomic.text import Masker, one_line
from atomic.verdict.facts import Verdict
from flows.artifacts import Teller, attempt_artifact
from flows.dashboard.presence import dashboard_address
from flows.history.telling import telling

OnProgress = Callable[[Progress], None]
DEFAULT_MODEL = "the agent's own default"
NAME_LIMIT = 120  # characters of a task run's name

T = TypeVar("T")


@dataclass(slots=True)
class _Work:
    """What an attempt's task is to do, and what came of it: parameters and results of tasks are plain data."""

    spec: AttemptSpec
    on_progress: OnProgress | None
    teller: Teller
    name: str
    record: AttemptRecord | None = None
    failure: AtomicError | None = None
    cancelled: bool = False


_work: ContextVar[_Work] = ContextVar("_work")


def _name_at_work() -> str:
    """A task run's name. It is a function's result: in a text Prefect would fill in what stands in braces."""
    return _work.get().name


@task(name="attempt", task_run_name=_name_at_work, retries=0, cache_policy=NO_CACHE, persist_result=False)
async def _attempt(n: int, model: str | None) -> State[None]:  # noqa: ARG001 - shown by Prefect
    work = _work.get()
    try:
        work.record = await run_attempt(work.spec, on_progress=work.on_progress)
    except asyncio.CancelledError:
        work.cancelled = True
        work.record = work.spec.folder.read()
    except AtomicError as error:
        work.failure = error
        return Failed(message=one_line(work.teller.masker(error.message)))
    own = TaskRunContext.get()
    assert own is not None, "this is a task"
    folder = str(work.spec.folder.path)
    run = own.task_run
    work.teller.tell(
        attempt_artifact(work.record, folder, work.teller, task_run_id=run.id, flow_run_id=run.flow_run_id)
    )
    return _state(work)


def _state(work: _Work) -> State[None]:
    verdict = work.record.verdict if work.record else None
    assert verdict is not None, "an attempt ends with a verdict"
    said = one_line(work.teller.masker(verdict.message))
    if verdict.answered:
        return Completed(message=f"answered by {one_line(verdict.answered_by or DEFAULT_MODEL)}")
    if work.cancelled:
        return Cancelled(message=said or "cancelled")
    return Failed(message=f"{verdict.kind}: {said}" if said else str(verdict.kind))


class TaskAttempts:
    """Carries attempts out as Prefect tasks: the ``run_attempt`` of :func:`atomic.runner.execute` within a flow."""

    def __init__(self, teller: Teller, *, item: str | None = None) -> None:
        """``item``: the id of the batch's item, for the names of its tasks."""
        self._teller = teller
        self._item = "" if item is None else f" · {item}"

    async def __call__(self, spec: AttemptSpec, *, on_progress: OnProgress | None = None) -> AttemptRecord:
        """One attempt; as :func:`atomic.session.run_attempt`, which it raises like."""
        model = None if spec.model is None else str(spec.model)
        name = f"attempt {spec.n} · {model or DEFAULT_MODEL}{self._item}"
        work = _Work(spec, on_progress, self._teller, one_line(name, NAME_LIMIT))
        _work.set(work)
        await _tagged(model)(spec.n, model, return_state=True)
        if work.failure is not None:
            raise work.failure
        if work.cancelled or work.record is None:
            raise asyncio.CancelledError
        return work.record


@functools.lru_cache(maxsize=256)
def _tagged(model: str | None) -> Any:
    """The task with a model's tag, by which Prefect's own limits can be set. Making one costs as much as running it."""
    return _attempt.with_options(tags=[model] if model else [])


async def attempt(
    prompt: str | Path,
    model: str | ModelRef | None = None,
    *,
    limits: Mapping[str, Any] | None = None,
    agent: Agent | str | None = None,
    cwd: str | Path | None = None,
    name: str | None = None,
    tags: Sequence[str] = (),
    metadata: Mapping[str, Any] | None = None,
    slash: bool = False,
    shared: bool | None = None,
) -> Verdict:
    """One session with one model as a Prefect task, for flows that decide themselves what comes next. It is recorded as
    a run of one attempt. A session that did not answer is a verdict, not an exception, and a failed task run.

    Raises UsageError before anything is spent, RecordError or PlaceError where the record cannot be written.
    """
    settings = load_settings(cwd)
    policy = FallbackPolicy(max_attempts=1, max_wait=0, limits=limits or {})
    request = prepare(
        prompt,
        policy=policy,
        models=[] if model is None else [model],
        agent=agent,
        cwd=cwd,
        name=name,
        tags=tags,
        metadata=metadata,
        slash=slash,
        shared=shared,
        settings=settings,
    )
    flow = FlowRunContext.get()
    async with Teller(masker_of(request), pages=dashboard_address(settings)) as teller:
        store = open_store(settings)
        async with telling(settings, store, request, warn=get_logger("atomic_flows").warning) as told:
            result = await execute(
                request,
                store=store,
                run_attempt=TaskAttempts(teller),
                on_event=told.hear,
                flow_run_id=str(flow.flow_run.id) if flow and flow.flow_run else None,
                cooldowns=told.cooldowns,
                key_is_bad=key_check(request.agent),
            )
    return result.verdicts[-1]


def attempt_sync(prompt: str | Path, model: str | ModelRef | None = None, **given: Any) -> Verdict:
    """:func:`attempt` for flows that are not asynchronous."""
    return run_blocking(attempt(prompt, model, **given), "attempt")


def run_blocking(work: Coroutine[Any, Any, T], name: str) -> T:
    """Run to its end what is asynchronous. Raises UsageError where an event loop is running."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass  # and not here, where an error of the work's would seem to come from this one
    else:
        work.close()
        raise UsageError(f"{name}_sync cannot work inside a running event loop", hint=f"Write `await {name}(…)` there.")
    return asyncio.run(work)


def masker_of(request: RunRequest) -> Masker:
    """Hides what the run's agent holds of secrets, and this process."""
    return masker_for(request.agent)
