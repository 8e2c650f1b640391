"""A run as a Prefect flow, for the command line: the server first, then the flow."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from importlib import import_module
from types import FrameType
from typing import Literal

from atomic.errors import EXIT_INTERRUPTED, EXIT_TERMINATED, RunCancelled
from atomic.record import RunStore
from atomic.runner import RunRequest, RunResult
from atomic.settings import Settings
from flows.cli.output import DIM, paint, say
from flows.cli.progress import PlainProgress, progress_for, recorded
from flows.cli.summary import exit_code, tell_recovered
from flows.server import Choice, choose, named_server, server_status

ServerMode = Literal["auto", "local", "ephemeral"]
Outcome = tuple[RunResult | None, int]


def through_prefect(
    settings: Settings,
    request: RunRequest,
    store: RunStore,
    *,
    agent: str | None,
    mode: ServerMode,
    slash: bool,
) -> Outcome:
    """The run as a flow; None where it was stopped before it had a record. Raises ServerError before anything is
    spent."""
    choice = _server(settings, mode)
    try:
        signal.signal(signal.SIGHUP, _as_terminate)
        with progress_for(sys.stderr) as progress:
            return _as_flow(settings, request, store, progress, agent=agent, slash=slash)
    finally:
        choice.close()


def _server(settings: Settings, mode: ServerMode) -> Choice:
    """The server, started where it must be, and Prefect imported meanwhile."""
    if mode == "ephemeral":
        say(paint("starting a Prefect server for this run alone: some ten seconds (--direct does without)", DIM))
        os.environ.setdefault("PREFECT_LOGGING_TO_API_ENABLED", "false")  # nobody could read them when it is gone
    elif (mode == "local" or named_server(os.environ) is None) and not server_status(settings.home).running:
        say(paint("starting the local Prefect server: once, it stays for the next runs", DIM))
    choice = choose(mode, home=settings.home, meanwhile=_import_flow)
    if choice.kind == "local" and choice.info is not None:
        say(paint(f"Prefect: {choice.info.dashboard}; `atomic-flows down` stops it", DIM))
    elif choice.kind != "ephemeral":
        say(paint(f"Prefect: {choice.url}, as {choice.profile or 'PREFECT_API_URL'} says", DIM))
    return choice


def _import_flow() -> None:
    import_module("flows.run")


def _as_flow(
    settings: Settings,
    request: RunRequest,
    store: RunStore,
    progress: PlainProgress,
    *,
    agent: str | None,
    slash: bool,
) -> Outcome:
    from prefect.exceptions import TerminationSignal

    from flows.recovery import recover_flows
    from flows.run import run_prompt, watching

    async def flow() -> RunResult:
        tell_recovered(await recover_flows(store, adopt=settings.adopt))
        with watching(progress):
            return await run_prompt(
                request.prompt.decode(),
                policy=request.policy,
                agent=agent,
                cwd=request.cwd,
                name=request.name,
                key=request.key,
                tags=request.tags,
                slash=slash,
                settings=settings,
                store=store,
                check=False,
            )

    try:
        result = asyncio.run(flow())
    except KeyboardInterrupt:
        return recorded(store, progress), EXIT_INTERRUPTED
    except TerminationSignal:
        return recorded(store, progress), EXIT_TERMINATED
    except RunCancelled as error:
        return error.result, error.exit_code
    return result, exit_code(result)


def _as_terminate(_number: int, _frame: FrameType | None) -> None:
    """The terminal is gone: as good as an order to end, which the flow knows how to follow."""
    os.kill(os.getpid(), signal.SIGTERM)
