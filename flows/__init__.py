"""Orchestration and people: Prefect flows, artifacts, the command line. Prefect is imported when a name is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flows.attempts import attempt, attempt_sync
    from flows.batch import run_batch, run_batch_sync
    from flows.batch.pool_shard import batch_shard
    from flows.run import run_prompt, run_prompt_sync, watching

__all__ = [
    "attempt",
    "attempt_sync",
    "batch_shard",
    "run_batch",
    "run_batch_sync",
    "run_prompt",
    "run_prompt_sync",
    "watching",
]

_HOMES = {
    "attempt": "flows.attempts",
    "attempt_sync": "flows.attempts",
    "batch_shard": "flows.batch.pool_shard",
    "run_batch": "flows.batch",
    "run_batch_sync": "flows.batch",
    "run_prompt": "flows.run",
    "run_prompt_sync": "flows.run",
    "watching": "flows.run",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
