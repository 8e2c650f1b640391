"""Carrying a batch out for the command line: check, run, print."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from typing import Any

from atomic.errors import EXIT_ANSWERED, UsageError
from atomic.processes import adopting_orphans
from atomic.settings import load_settings
from flows.batch import BatchRun, Ending, prepare_batch
from flows.batch.stopping import TERMINATED
from flows.cli.batch import BatchAsked
from flows.cli.batch_progress import batch_progress_for
from flows.cli.batch_summary import forecast_json, forecast_lines, tell_batch
from flows.cli.output import YELLOW, page, paint, say, write_json
from flows.cli.signals import first_signal
from flows.deadlines import deadline_at
from flows.inputs import forecast

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ENDINGS = {signal.SIGINT: (Ending.INTERRUPTED, "it was interrupted")}  # whatever else comes terminates it


def carry_out(asked: BatchAsked) -> int:
    """The whole command; its exit code. Raises AtomicError for what is wrong before anything is spent, and where what
    items came to cannot be written."""
    settings = load_settings(asked.given["cwd"], asked.given["config"])
    given = _given(asked)
    request = prepare_batch(asked.input, settings=settings, **given)
    mode = asked.mode or settings.prefect.mode
    if mode == "ephemeral" and request.asked.limit_across is not None:
        raise UsageError(
            f"the limit {request.asked.limit_across} would be that of a server which nobody else knows",
            hint="leave out --ephemeral, or the limit (--limit-across, batch.limit_across)",
            key="limit_across",
        )
    if mode == "ephemeral" and request.asked.shards_on is not None:
        raise UsageError(
            f"no worker knows the server of this command alone ({request.asked.shards_on} is asked for)",
            hint="leave out --ephemeral, or the workers (--shards-on, batch.shards_on)",
            key="shards_on",
        )
    with adopting_orphans(), batch_progress_for(sys.stderr) as progress:
        run = BatchRun(request, progress)
        if mode == "direct":
            code, where = asyncio.run(_until_ended(run)), None
        else:
            # Prefect takes two seconds to import, and its settings are decided before.
            from flows.cli.batch_through_prefect import batch_through_prefect

            code, where = batch_through_prefect(settings, run, given, mode=mode)
    if run.result is None:
        return code
    try:
        if asked.as_json:
            write_json(run.result.to_json())
        else:
            page([run.result.results])
    finally:
        tell_batch(run.result, where)  # also where nothing could be printed: it is on record
    return code


def foretell(asked: BatchAsked) -> int:
    """What a batch would come to, and nothing more."""
    request = prepare_batch(asked.input, **_given(asked))
    told = forecast(request.checked, request.choose, budget_usd=request.budget.cost_usd or None)
    if asked.as_json:
        write_json(forecast_json(request, told))
    else:
        page(forecast_lines(request, told))
        say("nothing was started")
    return EXIT_ANSWERED


def _given(asked: BatchAsked) -> dict[str, Any]:
    """The arguments of prepare_batch. Raises UsageError."""
    deadline = None if asked.deadline is None else deadline_at(asked.deadline, time.time())
    return {**asked.given, "deadline": deadline}


async def _until_ended(run: BatchRun) -> int:
    """The batch without Prefect."""
    with first_signal(lambda sign: stop(run, sign), signals=SIGNALS):
        return (await run.to_its_end()).exit_code


def stop(run: BatchRun, sign: signal.Signals) -> None:
    """End the batch as a signal asks."""
    say(paint("stopping the agents and their tools; what was answered is kept", YELLOW))
    ending, reason = ENDINGS.get(sign, (Ending.TERMINATED, TERMINATED))
    run.stop(ending, "now", reason)
