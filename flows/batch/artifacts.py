"""What Prefect's pages show of a batch: how far it is while it runs, and a table of what it came to."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import ArtifactCreate, ArtifactUpdate

from atomic.text import Masker, slug
from flows.artifacts import TELL_LIMIT, Call
from flows.batch.carry_out import BatchRun
from flows.batch.facts import BatchProgress, BatchResult
from flows.markdown import cell, code

SHOW_EVERY = 5.0  # seconds; a small artifact costs the server 25 to 40 ms


@contextlib.asynccontextmanager
async def showing_progress(run: BatchRun, flow_run_id: UUID) -> AsyncIterator[None]:
    """Within this a progress artifact of the flow run follows the batch. What cannot be shown is left out."""
    shown = _Shown(flow_run_id)
    showing = asyncio.get_running_loop().create_task(_show(run, shown))
    try:
        yield
    finally:
        showing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await showing
        if run.progress is not None:
            await shown.show(run.progress)


async def _show(run: BatchRun, shown: _Shown) -> None:
    while True:
        await asyncio.sleep(SHOW_EVERY)
        if run.progress is not None:
            await shown.show(run.progress)


class _Shown:
    """A flow run's progress artifact: made when there is something to show."""

    def __init__(self, flow_run_id: UUID) -> None:
        self._flow_run_id = flow_run_id
        self._artifact: UUID | None = None
        self._told = ""

    async def show(self, progress: BatchProgress) -> None:
        """Show how the batch stands, unless that is what is shown. What the server does not take is left out."""
        told, percent = describe(progress), done_percent(progress)
        if told == self._told:
            return
        with contextlib.suppress(Exception):  # the server may be away: the next look tries again
            async with asyncio.timeout(TELL_LIMIT), get_client() as client:
                if self._artifact is None:
                    made = ArtifactCreate(
                        type="progress", description=told, data=percent, flow_run_id=self._flow_run_id
                    )
                    self._artifact = (await client.create_artifact(made)).id
                else:
                    await client.update_artifact(self._artifact, ArtifactUpdate(data=percent, description=told))
                self._told = told


def done_percent(progress: BatchProgress) -> float:
    """How much of the batch has ended, in whole per cent."""
    return float(100 * progress.done // progress.total) if progress.total else 100.0


def describe(progress: BatchProgress) -> str:
    """How a batch stands, in one line."""
    parked = f", {progress.parked} parked" if progress.parked else ""
    cost = f", ${progress.cost_usd:.2f}" if progress.cost_usd else ""
    queued = f", {progress.queued} waiting for other machines" if progress.queued else ""
    counted = f"{progress.answered} answered, {progress.failed} failed, {progress.running} running{queued}{parked}"
    return f"{code(progress.batch)}: {counted} of {progress.total}{cost}"


def table_artifact(result: BatchResult, masker: Masker, *, flow_run_id: UUID) -> Call:
    """The table of an edition: its versions under the batch's key are the nights."""
    artifact = ArtifactCreate(
        type="table",
        key=f"batch-{slug(result.batch)}",
        description=batch_markdown(result, masker),
        data=json.dumps(outcome_rows(result)),
        flow_run_id=flow_run_id,
    )
    return lambda client: client.create_artifact(artifact)


def batch_markdown(result: BatchResult, masker: Masker) -> str:
    """The sentences above the table."""
    cost = "cost unknown" if result.cost_usd is None else f"${result.cost_usd:.4f}"
    unpriced = f" ({result.unpriced} runs of unknown cost)" if result.unpriced and result.cost_usd is not None else ""
    counted = f"{result.answered} of {result.total} answered, {result.failed} failed, {result.left} left"
    lines = [
        f"Batch {code(result.batch)}, edition {code(result.edition)}: {counted}.",
        f"{result.tokens:,} tokens, {cost}{unpriced}.",
        f"Results: {code(masker(result.results))}",
    ]
    if result.reason:
        lines.append(f"It ended before its time: {code(masker(result.reason))}")
    if result.go_on:
        lines.append(f"To go on: {code(result.go_on)}")
    return "\n\n".join(lines)


def outcome_rows(result: BatchResult) -> list[dict[str, Any]]:
    """A row for what was answered, for each kind of failure, and for what is left."""
    rows: list[dict[str, Any]] = [{"outcome": "answered", "items": result.answered}]
    rows += [{"outcome": cell(f"failed: {kind}"), "items": n} for kind, n in result.kinds.items()]
    return [*rows, {"outcome": "left", "items": result.left}] if result.left else rows
