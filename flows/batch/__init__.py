"""Batches: thousands of prompts, an edition at a time, with nothing bought twice and nothing lost.

    request = prepare_batch("prompts.jsonl", policy="default", max_cost=20)
    result = await BatchRun(request).to_its_end()      # without Prefect

    result = await run_batch("prompts.jsonl", policy="default", max_cost=20)      # as Prefect flows

The flow is imported when it is first used, since Prefect takes two seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flows.batch.budget import Budget
from flows.batch.carry_out import BatchRun
from flows.batch.facts import Asked, BatchEvent, BatchProgress, BatchRequest, BatchResult, Ending, Notice, OnBatchEvent
from flows.batch.prepare import prepare_batch
from flows.batch.stopping import Stop

if TYPE_CHECKING:
    from flows.batch.flow import run_batch, run_batch_sync

__all__ = [
    "Asked",
    "BatchEvent",
    "BatchProgress",
    "BatchRequest",
    "BatchResult",
    "BatchRun",
    "Budget",
    "Ending",
    "Notice",
    "OnBatchEvent",
    "Stop",
    "prepare_batch",
    "run_batch",
    "run_batch_sync",
]


def __getattr__(name: str) -> Any:
    if name in ("run_batch", "run_batch_sync"):
        from flows.batch import flow

        return getattr(flow, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
