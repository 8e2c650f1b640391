"""The flow object behind ``run_prompt``: what Python callers give and get, around Prefect's plain data and states."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, overload

from prefect import Flow
from prefect.client.schemas.objects import State
from prefect.exceptions import TerminationSignal
from prefect.futures import PrefectFuture
from prefect.logging import get_logger

from atomic.agent import Agent
from atomic.errors import RunCancelled, ServerError
from atomic.models import ModelRef
from atomic.record import RunStore
from atomic.runner import PolicyLike, RunResult, open_store, prepare, raise_unanswered
from atomic.settings import Settings, WorkspaceMode, load_settings
from flows.begun import noted
from flows.calls import AWAY, Call, current_watcher, hand_over
from flows.cancel import Stopped, absorbing, handlers_of_caller
from flows.dashboard.presence import dashboard_address
from flows.logs import UNTOLD
from flows.parameters import parameters_of
from flows.unsettled import forget_unsettled, note_unsettled


class PromptFlow(Flow[..., Any]):
    """``run_prompt``. Called from Python it returns a RunResult; from a deployment or the UI it takes plain data."""

    @overload  # type: ignore[override]
    async def __call__(
        self,
        prompt: str | Path,
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
        config: str | Path | None = None,
        settings: Settings | None = None,
        store: RunStore | None = None,
        check: bool = True,
        return_state: Literal[False] = False,
        wait_for: Iterable[PrefectFuture[Any]] | None = None,
    ) -> RunResult: ...

    @overload
    async def __call__(self, prompt: str | Path, *, return_state: Literal[True], **given: Any) -> State[RunResult]: ...

    async def __call__(
        self,
        prompt: str | Path,
        *,
        check: bool = True,
        return_state: bool = False,
        wait_for: Iterable[PrefectFuture[Any]] | None = None,
        **given: Any,
    ) -> RunResult | State[RunResult]:
        """Run it here, as a flow run, or as a subflow within another flow.

        The arguments are those of :func:`atomic.run`; ``config`` is a settings file in the place of the project's.
        With ``return_state`` the flow run's final state is returned, whatever it is.

        Raises UsageError before anything is spent; ServerError, before anything is spent too, where Prefect's server
        cannot be reached; NoModelAnswered unless ``check`` is False; RunCancelled when somebody cancelled the flow run
        in Prefect; RecordError or PlaceError where the record cannot be written. KeyboardInterrupt and Prefect's
        TerminationSignal are raised when the agents are stopped and the record is whole.
        """
        call, parameters = _prepared(prompt, **given)
        hand_over(call)
        as_flow: Any = super()
        try:
            with absorbing(), noted(call.store.home):
                state: State[RunResult] = await as_flow.__call__(**parameters, return_state=True, wait_for=wait_for)
        except (*AWAY, RuntimeError) as error:
            result = _told_in_vain(call, error)
        else:
            if call.flow_run_id is not None:
                forget_unsettled(call.store.home, flow_run_id=call.flow_run_id)
            _raise_stopped(call)
            if return_state:
                return state
            if call.result is None:
                return await state.aresult()  # raises what the flow run ended with
            result = call.result
        if check:
            raise_unanswered(result)
        return result


def _prepared(
    prompt: str | Path,
    *,
    config: str | Path | None = None,
    settings: Settings | None = None,
    store: RunStore | None = None,
    **given: Any,
) -> tuple[Call, dict[str, Any]]:
    """The call, checked whole, and the flow run's parameters: plain data, and nothing secret. Raises UsageError."""
    settings = load_settings(given.get("cwd"), config) if settings is None else settings
    request = prepare(prompt, settings=settings, **given)
    store = store or open_store(settings)
    call = Call(settings, request, store, current_watcher(), handlers_of_caller(), dashboard_address(settings))
    return call, parameters_of(request, call.store, given, config)


def _raise_stopped(call: Call) -> None:
    """Pass on what stopped the run, now that nothing of it is left."""
    if call.stopped is Stopped.INTERRUPT:
        raise KeyboardInterrupt
    if call.stopped is Stopped.TERMINATE:
        raise TerminationSignal(signal.SIGTERM)
    if call.cancelled and call.stopped is None:
        raise asyncio.CancelledError
    if call.cancelled and call.result is not None and not call.result.answered:
        raise RunCancelled("the flow run was cancelled in Prefect", result=call.result)


def _told_in_vain(call: Call, error: Exception) -> RunResult:
    """The result that Prefect's server could not be told: it is on record. Raises ServerError where there is none."""
    if call.result is None:
        if isinstance(error, RuntimeError) and call.flow_run_id is not None:
            raise error  # not about the server
        raise ServerError(
            f"Prefect's server cannot be reached: {error}", hint="see `atomic-flows status`; --direct does without"
        ) from error
    if call.flow_run_id is not None:
        note_unsettled(call.store.home, run_id=call.result.run_id, flow_run_id=call.flow_run_id)
    get_logger("atomic_flows").warning(UNTOLD, error)
    _raise_stopped(call)
    return call.result
