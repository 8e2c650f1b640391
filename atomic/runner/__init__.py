"""One run: attempts by policy, from the prompt to the record, without Prefect."""

from __future__ import annotations

from atomic.runner.costs import ceiling_usd
from atomic.runner.execute import execute
from atomic.runner.facts import (
    AttemptEnded,
    AttemptProgress,
    AttemptStarted,
    RunEnded,
    RunEvent,
    RunRequest,
    RunResult,
    RunStarted,
    Waiting,
)
from atomic.runner.prepare import (
    PolicyLike,
    catalog_for,
    check_budget,
    check_levels,
    choose_policy,
    open_store,
    prepare,
    price_table,
)
from atomic.runner.public import raise_unanswered, run, run_sync
from atomic.runner.seams import KeyIsBad, OnEvent, RunAttempt

__all__ = [
    "AttemptEnded",
    "AttemptProgress",
    "AttemptStarted",
    "KeyIsBad",
    "OnEvent",
    "PolicyLike",
    "RunAttempt",
    "RunEnded",
    "RunEvent",
    "RunRequest",
    "RunResult",
    "RunStarted",
    "Waiting",
    "catalog_for",
    "ceiling_usd",
    "check_budget",
    "check_levels",
    "choose_policy",
    "execute",
    "open_store",
    "prepare",
    "price_table",
    "raise_unanswered",
    "run",
    "run_sync",
]
