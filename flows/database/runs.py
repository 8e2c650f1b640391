"""Runs and their attempts, for the history: copied from the records, which are the truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import case, delete, func, select

from atomic.record import AttemptRecord, RunRecord
from atomic.record.files import encode
from atomic.verdict.facts import Status, Usage, Verdict
from flows.database.engine import Database
from flows.database.facts import Edition, Spent
from flows.database.tables import attempts as a
from flows.database.tables import runs as r

_UNKNOWN = Verdict(status=Status.FAILED)  # of an attempt without a verdict: nothing was counted


def record_run(database: Database, run: RunRecord, attempts: Sequence[AttemptRecord], *, record: str) -> None:
    """Write a run and its attempts as their records say, over what was written before. ``record``: folder or URL of its
    files. Raises DatabaseError."""
    row = _run_row(run, attempts, record)
    insert = database.insert(r).values(row)
    update = {name: insert.excluded[name] for name in row if name != "run_id"}
    with database.writing() as connection:
        connection.execute(insert.on_conflict_do_update(index_elements=[r.c.run_id], set_=update))
        connection.execute(delete(a).where(a.c.run_id == run.run_id))
        if attempts:
            connection.execute(a.insert(), [_attempt_row(attempt) for attempt in attempts])


def spent(database: Database, edition: Edition) -> Spent:
    """What the recorded runs of an edition used so far, those of earlier processes included. Raises DatabaseError."""
    tokens = r.c.input + r.c.output + r.c.cache_read + r.c.cache_write
    unpriced = case((r.c.cost_usd.is_(None) & (tokens > 0), 1), else_=0)
    sums = (func.coalesce(func.sum(value), 0) for value in (tokens, r.c.cost_usd, unpriced))
    with database.reading() as connection:
        query = select(*sums).where(r.c.batch == edition.batch, r.c.edition == edition.name)
        used, cost, unknown = connection.execute(query).one()
    return Spent(tokens=int(used), cost_usd=float(cost), unpriced=int(unknown))


def _run_row(run: RunRecord, attempts: Sequence[AttemptRecord], record: str) -> dict[str, Any]:
    return {
        "run_id": run.run_id,
        "name": run.name,
        "key": run.key,
        "batch": run.batch,
        "edition": run.edition,
        "custom_id": run.custom_id,
        "status": run.status,
        "kind": run.kind,
        "message": run.message,
        "first_model": attempts[0].model if attempts else None,
        "answered_by": run.answered_by,
        "policy_digest": run.policy_digest,
        "attempts": len(attempts),
        "created_at": run.created_at,
        "ended_at": run.ended_at,
        **_usage_row(run.usage, run.cost_usd),
        "tags": encode(run.tags).decode(),
        "metadata": encode(run.metadata).decode(),
        "warnings": encode(run.warnings).decode(),
        "cwd": run.cwd,
        "record": record,
        "flow_run_id": run.flow_run_id,
        "host": run.owner.host if run.owner else None,
        "user": run.owner.user if run.owner else None,
    }


def _attempt_row(attempt: AttemptRecord) -> dict[str, Any]:
    seen = attempt.verdict or _UNKNOWN
    counted = ("turns", "tool_calls", "failed_tool_calls", "retries", "compactions", "first_event_at", "first_token_at")
    return {
        "run_id": attempt.run_id,
        "n": attempt.n,
        "model": attempt.model,
        "status": attempt.status,
        "kind": attempt.kind,
        "message": attempt.message,
        "answered_by": attempt.answered_by,
        "carry": attempt.carry,
        "retry_at": seen.retry_at,
        "record": attempt.record,
        "started_at": attempt.started_at,
        "ended_at": attempt.ended_at,
        "exit_code": attempt.exit_code,
        **{name: getattr(seen, name) for name in counted},
        **_usage_row(seen.usage, seen.cost_usd),
    }


def _usage_row(usage: Usage, cost_usd: float | None) -> dict[str, Any]:
    tokens = ("input", "output", "cache_read", "cache_write")
    return {**{name: getattr(usage, name) for name in tokens}, "cost_usd": cost_usd}
