"""Recorded runs as JSON: the names of ``run --json``, and what only a record knows beside them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from atomic.record import AttemptRecord, RunRecord, RunStore
from atomic.runner.recording import place_of
from atomic.runner.results import result_of

_OF_RUN = ("created_at", "ended_at", "tags", "cwd")
_OF_WHOLE_RUN = ("key", "metadata", "policy", "versions", "warnings", "workspace")
_OF_ATTEMPT = (
    *("started_at", "ended_at", "exit_code", "agent_version", "command", "cwd", "limits"),
    *("stream", "session_file", "redacted", "changes"),
)
_OF_VERDICT = (
    *("usage", "cost_usd", "evidence", "turns", "tool_calls", "failed_tool_calls", "retries", "compactions"),
    *("degraded", "inner_fallbacks", "settled", "stopped", "records", "noise", "warnings"),
)


def run_json(run: RunRecord, store: RunStore) -> dict[str, Any]:
    """A run as ``history list --json`` prints it; ``seconds`` of one that is on its way are those until now."""
    told = result_of(run, (), place_of(store, run.run_id)).to_json()
    if not run.ended:
        told |= {"status": run.status, "seconds": max(time.time() - run.created_at, 0.0)}
    return told | run.model_dump(mode="json", include=set(_OF_RUN))


def whole_run_json(run: RunRecord, attempts: Sequence[AttemptRecord], prompt: str, store: RunStore) -> dict[str, Any]:
    """All that the records know of a run. An attempt whose own record cannot be read has what the run's says of it."""
    told = run_json(run, store) | {"prompt": prompt} | run.model_dump(mode="json", include=set(_OF_WHOLE_RUN))
    known = {attempt.n: attempt for attempt in attempts}
    told["attempts"] = [one | _more(known[one["n"]]) if one["n"] in known else one for one in told["attempts"]]
    return told


def _more(attempt: AttemptRecord) -> dict[str, Any]:
    more = attempt.model_dump(mode="json", include=set(_OF_ATTEMPT))
    if attempt.verdict is None:
        return more
    return more | attempt.verdict.model_dump(mode="json", by_alias=True, include=set(_OF_VERDICT))
