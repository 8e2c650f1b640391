"""Carrying a run out for the command line: check, recover, run, print."""

from __future__ import annotations

import asyncio
import signal
import sys

from atomic.checks import laid_over
from atomic.policy import FallbackPolicy
from atomic.processes import adopting_orphans
from atomic.project_trust import skipped_files
from atomic.providers import key_check
from atomic.record import RunStore
from atomic.runner import OnEvent, RunRequest, RunResult, choose_policy, execute, open_store, prepare
from atomic.settings import Settings, load_settings
from atomic.text import printable
from flows.cli.output import DIM, YELLOW, paint, say, write, write_json
from flows.cli.progress import progress_for, recorded
from flows.cli.run import Asked
from flows.cli.signals import Stopped, until_stopped
from flows.cli.summary import Outcome, exit_code, tell, tell_recovered
from flows.history.telling import both, telling
from flows.unsettled import recover_and_note


def carry_out(asked: Asked) -> Outcome:
    """The whole command. Raises AtomicError for what is wrong before anything is spent."""
    settings = load_settings(asked.cwd, asked.config)
    request = prepare(
        asked.prompt,
        policy=_policy(asked, settings),
        agent=asked.agent,
        cwd=asked.cwd,
        name=asked.name,
        key=asked.key,
        tags=asked.tags,
        slash=asked.slash,
        workspace=asked.workspace,
        shared=asked.shared or None,
        settings=settings,
    )
    store = open_store(settings)
    mode = asked.mode or settings.prefect.mode
    _hints(request)
    with adopting_orphans():
        if mode == "direct":
            outcome = _direct(settings, request, store)
        else:
            # Prefect takes two seconds to import, and its settings are decided before.
            from flows.cli.through_prefect import through_prefect

            outcome = through_prefect(settings, request, store, agent=asked.agent, mode=mode, slash=asked.slash)
    _show(asked, outcome, request.policy, asked.policy or settings.default_policy)
    return outcome


def _policy(asked: Asked, settings: Settings) -> FallbackPolicy:
    """The policy that is meant, with what the command line says of models, limits and checks laid over it."""
    policy = choose_policy(asked.policy, asked.models, settings)
    given = {"cost_usd": asked.max_cost, "tokens": asked.max_tokens, "idle": asked.idle, "total": asked.total}
    limits = policy.limits.model_dump() | {name: value for name, value in given.items() if value is not None}
    bounded = FallbackPolicy.model_validate({**policy.model_dump(mode="json"), "limits": limits})
    return laid_over(bounded, asked.check, asked.schema)


def _hints(request: RunRequest) -> None:
    limits = request.policy.limits
    bounds = [f"${limits.cost_usd:g}"] if limits.cost_usd else []
    bounds += [f"{limits.tokens:,} tokens"] if limits.tokens else []
    if bounds:
        say(paint(f"at most {' and '.join(bounds)}, all attempts together", DIM))
    skipped = skipped_files(request.agent, request.cwd)
    if skipped.files and not skipped.decided:
        names = printable(skipped.names(request.cwd))
        say(paint(f"the agent skips {names}: [agent] approve = true trusts this folder, false ends this line", DIM))


def _direct(settings: Settings, request: RunRequest, store: RunStore) -> Outcome:
    """The run without Prefect."""
    tell_recovered(asyncio.run(recover_and_note(store, adopt=settings.adopt)))
    with progress_for(sys.stderr) as progress:
        work = _recorded_and_told(settings, request, store, progress)
        try:
            result = asyncio.run(until_stopped(work, signals=(signal.SIGINT, signal.SIGTERM, signal.SIGHUP)))
        except Stopped as stopped:
            return Outcome(recorded(store, progress), stopped.code)
    return Outcome(result, exit_code(result))


async def _recorded_and_told(settings: Settings, request: RunRequest, store: RunStore, progress: OnEvent) -> RunResult:
    async with telling(settings, store, request, warn=_warn) as told:
        return await execute(
            request,
            store=store,
            on_event=both(progress, told.hear),
            cooldowns=told.cooldowns,
            key_is_bad=key_check(request.agent),
        )


def _warn(text: str) -> None:
    say(f"{paint('warning:', YELLOW)} {printable(text)}")


def _show(asked: Asked, outcome: Outcome, policy: FallbackPolicy, name: str) -> None:
    result = outcome.result
    if result is None:
        return
    try:
        if asked.as_json:
            write_json(result.to_json())
        elif result.answer is not None and result.answered:
            write(result.answer if result.answer.endswith("\n") else f"{result.answer}\n")
    finally:
        tell(result, policy, name, outcome.page)  # also where the answer could not be printed: it is on record
