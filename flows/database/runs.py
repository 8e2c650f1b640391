"""Runs and their attempts, for the history: copied from the records, which are the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, case, delete, func, insert, select, text
from sqlalchemy.dialects import postgresql, sqlite

from atomic.record import AttemptRecord, RunRecord
from atomic.record.files import encode
from atomic.verdict.facts import Status, Usage, Verdict
from flows.database import labels
from flows.database.buckets import bucket_of
from flows.database.engine import Database
from flows.database.facts import Spent
from flows.database.tables import attempts as a
from flows.database.tables import days as d
from flows.database.tables import runs as r

PROMPT_HEAD = 300  # characters of a prompt that its row keeps
_UNKNOWN = Verdict(status=Status.FAILED)  # of an attempt without a verdict: nothing was counted
_TOKENS = ("input", "output", "cache_read", "cache_write")
_COUNTED = ("turns", "tool_calls", "failed_tool_calls", "retries", "compactions", "first_event_at", "first_token_at")
DAYS_LOCK = 0x64617973  # any number, the same for all: see flows.history.days


def _upsert(new: sqlite.Insert | postgresql.Insert) -> sqlite.Insert | postgresql.Insert:
    update = {column.name: new.excluded[column.name] for column in r.columns if column.name != "run_id"}
    return new.on_conflict_do_update(index_elements=[r.c.run_id], set_=update)


# Made once: making it costs several times what carrying it out does.
_UPSERTS = {"sqlite": _upsert(sqlite.insert(r)), "postgresql": _upsert(postgresql.insert(r))}
_CLEAR = delete(a).where(a.c.run_id == bindparam("of"))
_FORGET = delete(d).where(d.c.begins <= bindparam("at"), d.c.ends > bindparam("at"))


@dataclass(frozen=True, slots=True)
class Recorded:
    """A run as its record has it. ``record``: folder or URL of its files; ``prompt``: its beginning, without secrets;
    None leaves what the row has."""

    run: RunRecord
    attempts: Sequence[AttemptRecord]
    record: str
    prompt: str | None = None


def record_run(
    database: Database, run: RunRecord, attempts: Sequence[AttemptRecord], *, record: str, prompt: str | None = None
) -> None:
    """Write a run and its attempts as their records say, over what was written before. ``record``: folder or URL of its
    files; ``prompt``: its beginning. Raises DatabaseError."""
    record_runs(database, [Recorded(run, attempts, record, prompt)])


def record_runs(database: Database, found: Sequence[Recorded]) -> None:
    """Write runs, of each id the last one, in one transaction. Raises DatabaseError."""
    if found:
        with database.writing() as connection:
            put(database, connection, found)


def put(database: Database, connection: Connection, found: Sequence[Recorded]) -> None:
    """The same within the connection's transaction."""
    if not found:
        return
    last = {one.run.run_id: one for one in found}
    ids = sorted(last)  # one order for all: no two wait for each other
    found = [last[run_id] for run_id in ids]
    hold_days(connection)
    before = _rows(database, connection, ids)
    labels.take(connection, {run_id: labels.labels_of(*rows) for run_id, rows in before.items()})
    rows = [_run_row(one, before.get(one.run.run_id)) for one in found]
    steps = {one.run.run_id: [_attempt_row(attempt) for attempt in one.attempts] for one in found}
    connection.execute(_UPSERTS[database.engine.dialect.name], rows)
    if before:
        connection.execute(_CLEAR, [{"of": run_id} for run_id in before])
    if many := [step for of_run in steps.values() for step in of_run]:
        connection.execute(insert(a), many)
    labels.put(database, connection, {row["run_id"]: labels.labels_of(row, steps[row["run_id"]]) for row in rows})
    connection.execute(_FORGET, [{"at": at} for at in {row["created_at"] for row in rows}])


def remove(database: Database, connection: Connection, run_ids: Sequence[str]) -> None:
    """Take runs out, with all that is theirs, within the connection's transaction."""
    hold_days(connection)
    before = _rows(database, connection, run_ids)
    labels.take(connection, {run_id: labels.labels_of(*rows) for run_id, rows in before.items()})
    connection.execute(delete(r).where(database.among(r.c.run_id, list(before))))
    if before:
        connection.execute(_FORGET, [{"at": at} for at in {run["created_at"] for run, _ in before.values()}])


def hold_days(connection: Connection, *, alone: bool = False) -> None:
    """Let nobody make a day's figures while runs are written, and the other way. On SQLite there is one writer."""
    if connection.dialect.name == "postgresql":
        how = "" if alone else "_shared"
        connection.execute(text(f"SELECT pg_advisory_xact_lock{how}(:key)"), {"key": DAYS_LOCK})


def spent(database: Database, batch: str, edition: str) -> Spent:
    """What the recorded runs of an edition used so far, those of earlier processes included. Raises DatabaseError."""
    tokens = r.c.input + r.c.output + r.c.cache_read + r.c.cache_write
    unpriced = case((r.c.cost_usd.is_(None) & (tokens > 0), 1), else_=0)
    sums = (func.coalesce(func.sum(value), 0) for value in (tokens, r.c.cost_usd, unpriced))
    with database.reading() as connection:
        query = select(*sums).where(r.c.batch == batch, r.c.edition == edition)
        used, cost, unknown = connection.execute(query).one()
    return Spent(tokens=int(used), cost_usd=float(cost), unpriced=int(unknown))


def _rows(
    database: Database, connection: Connection, run_ids: Sequence[str]
) -> dict[str, tuple[Mapping[str, Any], list[Mapping[str, Any]]]]:
    """The rows that are there of these runs, by their ids."""
    query = select(r).where(database.among(r.c.run_id, run_ids)).with_for_update()
    found: dict[str, tuple[Mapping[str, Any], list[Mapping[str, Any]]]] = {
        row["run_id"]: (dict(row), []) for row in connection.execute(query).mappings()
    }
    if found:
        steps = select(a.c.run_id, a.c.model, a.c.kind, a.c.answered_by)
        for step in connection.execute(steps.where(database.among(a.c.run_id, list(found)))).mappings():
            found[step["run_id"]][1].append(dict(step))
    return found


def _run_row(one: Recorded, before: tuple[Mapping[str, Any], object] | None) -> dict[str, Any]:
    run = one.run
    first_model = one.attempts[0].model if one.attempts else None
    kept = before[0]["prompt"] if before else ""
    return {
        "run_id": run.run_id,
        "name": run.name,
        "key": run.key,
        "batch": run.batch,
        "edition": run.edition,
        "custom_id": run.custom_id,
        "status": str(run.status),
        "kind": run.kind,
        "message": run.message,
        "first_model": first_model,
        "answered_by": run.answered_by,
        "policy_digest": run.policy_digest,
        "attempts": len(one.attempts),
        "created_at": run.created_at,
        "ended_at": run.ended_at,
        **_usage_row(run.usage, run.cost_usd),
        "tags": encode(run.tags).decode(),
        "metadata": encode(run.metadata).decode(),
        "warnings": encode(run.warnings).decode(),
        "cwd": run.cwd,
        "record": one.record,
        "flow_run_id": run.flow_run_id,
        "host": run.owner.host if run.owner else None,
        "user": run.owner.user if run.owner else None,
        "prompt": kept if one.prompt is None else one.prompt[:PROMPT_HEAD],
        "last_model": one.attempts[-1].model if one.attempts else None,
        "hopped": labels.hopped(run.status, first_model, run.answered_by),
        "took": bucket_of(_between(run.created_at, run.ended_at)),
    }


def _attempt_row(attempt: AttemptRecord) -> dict[str, Any]:
    seen = attempt.verdict or _UNKNOWN
    return {
        "run_id": attempt.run_id,
        "n": attempt.n,
        "model": attempt.model,
        "status": None if attempt.status is None else str(attempt.status),
        "kind": attempt.kind,
        "message": attempt.message,
        "answered_by": attempt.answered_by,
        "carry": attempt.carry,
        "retry_at": seen.retry_at,
        "record": attempt.record,
        "started_at": attempt.started_at,
        "ended_at": attempt.ended_at,
        "exit_code": attempt.exit_code,
        **{name: getattr(seen, name) for name in _COUNTED},
        **_usage_row(seen.usage, seen.cost_usd),
        "asked": labels.name_of(attempt.model),
        "took": bucket_of(_between(attempt.started_at, attempt.ended_at)),
        "waited": bucket_of(_between(attempt.started_at, seen.first_token_at)),
    }


def _between(begin: float, end: float | None) -> float | None:
    return None if end is None else end - begin


def _usage_row(usage: Usage, cost_usd: float | None) -> dict[str, Any]:
    return {**{name: getattr(usage, name) for name in _TOKENS}, "cost_usd": cost_usd}
