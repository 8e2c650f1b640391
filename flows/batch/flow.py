"""A batch as a Prefect flow, and its shards as flows within it: ``run_batch``."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterable
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Literal, overload

from prefect import Flow
from prefect.client.schemas.objects import FlowRun, State
from prefect.context import FlowRunContext
from prefect.exceptions import TerminationSignal
from prefect.futures import PrefectFuture
from prefect.states import Cancelled, Completed, Failed

from atomic.errors import AtomicError, ServerError
from atomic.policy import FallbackPolicy
from atomic.settings import WorkspaceMode
from atomic.text import Masker, one_line
from flows.artifacts import Teller
from flows.attempts import masker_of, run_blocking
from flows.batch.artifacts import showing_progress, table_artifact
from flows.batch.carry_out import BatchRun
from flows.batch.facts import BatchResult, Ending, OnBatchEvent
from flows.batch.leases import sharing
from flows.batch.pool_runs import deployed
from flows.batch.prepare import prepare_batch
from flows.batch.shard_flow import in_shard_flows
from flows.batch.stopping import TERMINATED, Stop
from flows.begun import noted
from flows.calls import AWAY
from flows.cancel import Stopped, absorbing, handlers_of_caller, signals_to, watched
from flows.dashboard.presence import dashboard_address
from flows.logs import hush
from flows.parameters import shown_command, without_secrets
from flows.recovery import on_ended_from_outside, settle

MESSAGE_LIMIT = 1000  # characters of a state's message
_STOPPED = {
    Stopped.INTERRUPT: (Ending.INTERRUPTED, "it was interrupted"),
    Stopped.TERMINATE: (Ending.TERMINATED, TERMINATED),
    Stopped.PREFECT: (Ending.CANCELLED, "it was cancelled in Prefect"),
}
_given: ContextVar[BatchRun | None] = ContextVar("_given", default=None)


class Stopper:
    """Ends a batch, or a shard on a worker, by a signal, or by a word in Prefect."""

    def __init__(self, stop: Stop) -> None:
        self.by: Stopped | None = None
        self._stop = stop

    def stop(self, by: Stopped) -> None:
        """Stop its live sessions."""
        self.by = self.by or by
        ending, reason = _STOPPED[by]
        self._stop(ending, "now", reason)


async def _run_batch(
    input: str,  # noqa: A002 - what it is called everywhere
    name: str | None = None,
    output: str | None = None,
    template: str | None = None,
    format: str | None = None,  # noqa: A002
    policy: str | dict[str, Any] | None = None,
    models: list[str] | None = None,
    agent: str | None = None,
    cwd: str | None = None,
    tags: list[str] | None = None,
    metadata: dict[str, Any] | None = None,
    slash: bool = False,
    shared: bool | None = None,
    check: str | list[str] | None = None,
    answer_schema: str | None = None,
    edition: str | None = None,
    new: bool = False,
    retry_failed: bool = False,
    redo: bool = False,
    limit: int | None = None,
    concurrency: int | None = None,
    max_cost: float | None = None,
    max_tokens: int | None = None,
    on_budget: Literal["finish", "stop"] = "finish",
    stop_after: int | None = None,
    deadline: float | None = None,
    track: Literal["session", "shard", "auto"] | None = None,
    workspace: WorkspaceMode | None = None,
    limit_across: str | None = None,
    shards_on: str | None = None,
    config: str | None = None,
) -> State[BatchResult]:
    """Run every prompt of an input through the models of its policy.

    Args:
        input: The file of the items: JSONL, CSV, YAML, or text with one prompt a line.
        name: The batch's name; by default the input's. Its editions are found under the artifact `batch-<name>`.
        output: The folder of results.jsonl and errors.jsonl; by default `<name>-results` beside the input.
        template: A Jinja2 template that makes a prompt of each row.
        format: The input's format, where its name does not say it.
        policy: The policy of items that name none: a name, or a policy.
        models: Models `provider/id[:level]` in order, in the place of that policy's.
        agent: The agent's command line; by default as the settings say.
        cwd: The folder in which the agent works, for items that name none.
        tags: Tags for every record.
        metadata: Anything, for every record.
        slash: Allow prompts that begin with `/`, the agent's own commands and templates.
        shared: Allow several sessions in the same folder at once; by default as the settings say.
        check: A command that accepts answers by exit code 0, in the place of every policy's.
        answer_schema: A file with the JSON Schema that answers must fit, in the place of every policy's.
        edition: The edition's name; by default the newest that has not ended, else a new one. A schedule's is its
            time.
        new: Begin another edition.
        retry_failed: Run the failed items again.
        redo: Run all items again.
        limit: Run so many items, and leave the rest.
        concurrency: Sessions at a time.
        max_cost: The most that the edition may cost, in dollars.
        max_tokens: The most tokens that the edition may use.
        on_budget: When one of these is reached: `finish` what is live, or `stop` it.
        stop_after: Halt after so many failures of one kind in a row, with no answer between; 0: never.
        deadline: When to give up waiting for cooldowns, in seconds since the epoch.
        track: What becomes a task: every `session`, a `shard` of 200 items, or `auto`: sessions while there are few.
        workspace: `shared`, `worktree` or `copy`, for items that name none.
        limit_across: Sessions at a time on all machines, as `NAME=N`: a global concurrency limit.
        shards_on: The deployment of `batch-shard` whose workers carry the shards out: `NAME`, or `NAME=N` for N at a
            time.
        config: A settings file, in the place of the project's.
    """
    given = {key: value for key, value in locals().items() if value is not None}
    context = FlowRunContext.get()
    assert context is not None and context.flow_run is not None, "this is a flow run"  # noqa: PT018
    run = _given.get()
    _given.set(None)
    try:
        if run is None:
            run = BatchRun(prepare_batch(**{**given, "edition": edition or _scheduled(context.flow_run)}))
        await carry_out_in(run, context.flow_run)
    except AtomicError as error:
        return Failed(message=one_line(Masker.of(os.environ)(error.message), MESSAGE_LIMIT), data=error)
    return final_state(run.result, masker_of(run.request.form))


def _scheduled(flow_run: FlowRun) -> str | None:
    """The name of a schedule's edition: its scheduled time in UTC. None for a flow run that no schedule made."""
    at = flow_run.expected_start_time
    return at.strftime("%Y%m%d-%H%M%S") if flow_run.auto_scheduled and at is not None else None


async def carry_out_in(run: BatchRun, flow_run: FlowRun) -> None:
    """Carry the batch out in this flow run, which is to end in :func:`final_state`, and tell Prefect what there is to
    tell. Raises as :meth:`BatchRun.to_its_end`."""
    run.flow_run_id = str(flow_run.id)
    hush()
    stopper = Stopper(run.stop)
    async with Teller(masker_of(run.request.form), pages=dashboard_address(run.request.settings)) as teller:
        named = one_line(teller.masker(run.request.name))
        teller.tell(lambda client: client.update_flow_run(flow_run.id, name=named))
        with signals_to(stopper, run.handlers):
            async with watched(flow_run.id, stopper), showing_progress(run, flow_run.id):
                settling = asyncio.get_running_loop().create_task(settle(run.request.store))
                try:
                    asked = run.request.asked
                    async with (
                        sharing(asked.limit_across, flow_run.id, run.say) as across,
                        deployed(asked.shards_on) as pool,
                    ):
                        await run.to_its_end(in_shard_flows(run), across, pool)
                finally:
                    settling.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await settling
        if run.result is not None:
            teller.tell(table_artifact(run.result, teller.masker, flow_run_id=flow_run.id))


def final_state(result: BatchResult | None, masker: Masker, *, go_on: str | None = None) -> State[BatchResult]:
    """The state that a batch's flow run ends in. ``go_on`` says in the place of the result's own words how the rest is
    gone on with."""
    if result is None:
        return Cancelled(message="cancelled before it began")
    counted = f"{result.answered} answered, {result.failed} failed, {result.left} left"
    why = f": {masker(result.reason)}" if result.reason else ""
    message = one_line(f"edition {result.edition}: {counted}{why}. {go_on or result.go_on}", MESSAGE_LIMIT)
    if result.ending in (Ending.FINISHED, Ending.LIMIT):
        return Completed(name="Some failed" if result.failed else "Completed", message=message, data=result)
    if result.ending is Ending.BUDGET:
        return Failed(name="Out of budget", message=message)
    if result.ending is Ending.HALTED:
        return Failed(name="Halted", message=message)
    return Cancelled(message=message)


class BatchFlow(Flow[..., Any]):
    """``run_batch``. Called from Python it returns a BatchResult; from a deployment or the UI it takes plain data."""

    @overload  # type: ignore[override]
    async def __call__(self, input: str | Path, *, return_state: Literal[True], **given: Any) -> State[BatchResult]: ...

    @overload
    async def __call__(
        self,
        input: str | Path,
        *,
        on_event: OnBatchEvent | None = None,
        **given: Any,
    ) -> BatchResult: ...

    async def __call__(
        self,
        input: str | Path,  # noqa: A002
        *,
        on_event: OnBatchEvent | None = None,
        return_state: bool = False,
        wait_for: Iterable[PrefectFuture[Any]] | None = None,
        **given: Any,
    ) -> BatchResult | State[BatchResult]:
        """Run it here, as a flow run, or as a subflow within another flow.

        The arguments are those of :func:`flows.batch.prepare_batch`; ``on_event`` is told how it stands. With
        ``return_state`` the flow run's final state is returned, whatever it is. Items that failed are part of the
        result, and raise nothing.

        Raises UsageError before anything is spent; ServerError, before anything is spent too, where Prefect's server
        cannot be reached; DatabaseError; EditionLost, BatchBroken where what items came to cannot be written.
        KeyboardInterrupt and Prefect's TerminationSignal are raised when the agents are stopped and all is kept.
        """
        run = BatchRun(prepare_batch(input, **given), on_event)
        state = await self.carry(run, given, wait_for=wait_for)
        if run.stop.ending is Ending.INTERRUPTED:
            raise KeyboardInterrupt
        if run.stop.ending is Ending.TERMINATED:
            raise TerminationSignal(signal.SIGTERM)
        if return_state and state is not None:
            return state
        assert run.result is not None, "carry raises where there is none"
        return run.result

    async def carry(
        self, run: BatchRun, given: dict[str, Any], *, wait_for: Iterable[PrefectFuture[Any]] | None = None
    ) -> State[BatchResult] | None:
        """Carry a prepared batch out as a flow run; ``given`` is what it was prepared from. ``run.result`` is there
        afterwards, whatever ended it. None where the server was not told of the end. Raises as the flow does, but for
        signals."""
        run.handlers = handlers_of_caller()
        _given.set(run)
        as_flow: Any = super()
        try:
            with absorbing(), noted(run.request.settings.home):
                state: State[BatchResult] = await as_flow.__call__(
                    **_parameters(run, given), return_state=True, wait_for=wait_for
                )
        except (*AWAY, RuntimeError) as error:
            if run.result is not None:
                run.told = False
                return None
            if isinstance(error, RuntimeError) and run.flow_run_id is not None:
                raise  # not about the server
            raise ServerError(
                f"Prefect's server cannot be reached: {error}", hint="see `atomic-flows status`; --direct does without"
            ) from error
        if run.result is None:
            await state.aresult()  # raises what the flow run ended with
        return state


def _parameters(run: BatchRun, given: dict[str, Any]) -> dict[str, Any]:
    """The flow run's parameters: plain data, and nothing secret."""
    masker = masker_of(run.request.form)
    plain = {key: value for key, value in given.items() if key != "settings"}
    policy, agent = given.get("policy"), given.get("agent")
    paths = {
        key: str(Path(plain[key]).absolute())
        for key in ("template", "config", "answer_schema")
        if plain.get(key) is not None
    }
    told = {
        **plain,
        **paths,
        "input": str(run.request.checked.path.absolute()),
        "name": run.request.name,
        "output": str(run.request.output),
        "policy": policy.model_dump(mode="json") if isinstance(policy, FallbackPolicy) else policy,
        "models": [str(model) for model in given.get("models") or ()] or None,
        "agent": shown_command(agent, masker) if isinstance(agent, str) else None,
        "cwd": str(run.request.form.cwd),
        "tags": list(given.get("tags") or ()) or None,
    }
    return {name: without_secrets(value, masker) for name, value in told.items()}


# A deployment finds the flow by its function's name.
_run_batch.__name__ = _run_batch.__qualname__ = "run_batch"

run_batch = BatchFlow(
    _run_batch,
    name="run-batch",
    persist_result=False,
    on_cancellation=[on_ended_from_outside],
    on_crashed=[on_ended_from_outside],
)


def run_batch_sync(input: str | Path, **given: Any) -> BatchResult:  # noqa: A002
    """``run_batch`` for code that is not asynchronous, within a flow or outside of one. Raises as it does, and
    UsageError where an event loop is running."""
    result: BatchResult = run_blocking(run_batch(input, **given), "run_batch")
    return result
