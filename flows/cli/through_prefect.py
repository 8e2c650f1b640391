"""A run as a Prefect flow, for the command line: the server first, then the flow."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from dataclasses import replace
from importlib import import_module
from typing import Literal

from atomic.errors import EXIT_TERMINATED, RunCancelled
from atomic.record import RunStore
from atomic.runner import RunRequest, RunResult
from atomic.settings import Settings
from flows.cli.leaving import leave_at_once
from flows.cli.outage import noticing_outage
from flows.cli.output import DIM, YELLOW, paint, say
from flows.cli.progress import PlainProgress, progress_for, recorded
from flows.cli.signals import Stopped, until_stopped
from flows.cli.summary import Outcome, exit_code, tell_recovered
from flows.server import Choice, choose, named_server, server_status
from flows.unsettled import is_unsettled

ServerMode = Literal["auto", "local", "ephemeral"]


def through_prefect(
    settings: Settings,
    request: RunRequest,
    store: RunStore,
    *,
    agent: str | None,
    mode: ServerMode,
    slash: bool,
) -> Outcome:
    """The run as a flow. Raises ServerError before anything is spent."""
    choice = open_server(settings, mode, module="flows.run")
    try:
        with progress_for(sys.stderr) as progress:
            outcome = _as_flow(settings, request, store, progress, url=choice.url, agent=agent, slash=slash)
    finally:
        choice.close()
    flow_run_id = outcome.result.flow_run_id if outcome.result else None
    if flow_run_id is not None and is_unsettled(settings.home, flow_run_id=flow_run_id):
        tell_untold("run")
        return outcome
    return replace(outcome, page=flow_run_page(choice, flow_run_id))


def open_server(settings: Settings, mode: ServerMode, *, module: str) -> Choice:
    """The server, started where it must be; `module`, which needs Prefect, is imported meanwhile. Raises
    ServerError."""
    if mode == "ephemeral":
        say(paint("starting a Prefect server for this command alone: some ten seconds (--direct does without)", DIM))
        os.environ.setdefault("PREFECT_LOGGING_TO_API_ENABLED", "false")  # nobody could read them when it is gone
    elif (mode == "local" or named_server(os.environ) is None) and not server_status(settings.home).running:
        say(paint("starting the local Prefect server: once, it stays for the next runs", DIM))
    choice = choose(mode, home=settings.home, meanwhile=lambda: _import(module))
    from flows.logs import hush_outage

    hush_outage()
    if choice.kind == "local" and choice.info is not None:
        say(paint(f"Prefect: {choice.info.dashboard}; `atomic-flows down` stops it", DIM))
    elif choice.kind != "ephemeral":
        say(paint(f"Prefect: {choice.url}, as {choice.profile or 'PREFECT_API_URL'} says", DIM))
    return choice


def tell_untold(what: str) -> None:
    """Say that Prefect's server has gone in the meantime, and wait for nothing more of it."""
    say(paint(f"Prefect's server was not told how the {what} ended; the next command tells it", YELLOW))
    leave_at_once()


def _import(module: str) -> None:
    import_module(module)


def flow_run_page(choice: Choice, flow_run_id: str | None) -> str | None:
    """The flow run's page, where a server of ours shows it: other servers' pages are theirs to name."""
    if choice.kind != "local" or choice.info is None or flow_run_id is None:
        return None
    return f"{choice.info.dashboard}/runs/flow-run/{flow_run_id}"


def _as_flow(
    settings: Settings,
    request: RunRequest,
    store: RunStore,
    progress: PlainProgress,
    *,
    url: str,
    agent: str | None,
    slash: bool,
) -> Outcome:
    from prefect.exceptions import TerminationSignal

    from flows.recovery import recover_flows
    from flows.run import run_prompt, watching

    async def flow() -> RunResult:
        tell_recovered(await recover_flows(store, adopt=settings.adopt))
        async with noticing_outage(url):
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
                    workspace="shared" if request.workspace is None else request.workspace.mode,
                    shared=request.shared,
                    settings=settings,
                    store=store,
                    check=False,
                )

    try:
        result = asyncio.run(until_stopped(flow(), signals=(signal.SIGINT, signal.SIGTERM, signal.SIGHUP)))
    except Stopped as stopped:
        return Outcome(recorded(store, progress), stopped.code)
    except TerminationSignal:  # Prefect's own handler is in force while the flow begins and ends
        return Outcome(recorded(store, progress), EXIT_TERMINATED)
    except RunCancelled as error:
        return Outcome(error.result, error.exit_code)
    return Outcome(result, exit_code(result))
