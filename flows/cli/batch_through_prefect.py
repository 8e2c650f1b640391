"""A batch as a Prefect flow, for the command line: the server first, then the flow."""

from __future__ import annotations

import asyncio
from typing import Any

from atomic.errors import EXIT_TERMINATED
from atomic.settings import Settings
from flows.batch import BatchRun
from flows.cli.batching import SIGNALS, stop
from flows.cli.outage import noticing_outage
from flows.cli.signals import EXIT_CODES, first_signal
from flows.cli.through_prefect import ServerMode, flow_run_page, open_server, tell_untold


def batch_through_prefect(
    settings: Settings, run: BatchRun, given: dict[str, Any], *, mode: ServerMode
) -> tuple[int, str | None]:
    """Carry it out; the exit code, and the flow run's page. Raises ServerError before anything is spent, and what
    :meth:`flows.batch.BatchRun.to_its_end` raises."""
    choice = open_server(settings, mode, module="flows.batch.flow")
    try:
        code = _as_flow(run, given, choice.url)
    finally:
        choice.close()
    if not run.told:
        tell_untold("batch")
        return code, None
    return code, flow_run_page(choice, run.flow_run_id)


def _as_flow(run: BatchRun, given: dict[str, Any], url: str) -> int:
    from prefect.exceptions import TerminationSignal

    from flows.batch import run_batch

    caught: list[Any] = []

    async def flow() -> None:
        with first_signal(lambda sign: stop(run, sign), signals=SIGNALS) as signals:
            try:
                async with noticing_outage(url):
                    await run_batch.carry(run, given)
            finally:
                caught.extend(signals)

    try:
        asyncio.run(flow())
    except TerminationSignal:  # Prefect's own handler is in force while the flow begins and ends
        return EXIT_TERMINATED
    if run.result is None:
        return EXIT_CODES[caught[0]] if caught else EXIT_TERMINATED
    return run.result.exit_code
