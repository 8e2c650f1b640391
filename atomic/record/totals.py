"""What the attempts of a run used together, and what they changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from atomic.record.facts import AttemptRecord, AttemptSummary, Changes, RunRecord
from atomic.verdict.facts import Usage, Verdict


def with_attempts(record: RunRecord, attempts: Sequence[AttemptRecord]) -> RunRecord:
    """The run's record with what these attempts came to and used."""
    usage = total_usage(attempt.verdict for attempt in attempts if attempt.verdict is not None)
    summaries = tuple(AttemptSummary.of(attempt) for attempt in attempts)
    return record.model_copy(update={"attempts": summaries, "usage": usage, "cost_usd": usage.cost_usd})


def total_usage(verdicts: Iterable[Verdict]) -> Usage:
    """The sum over attempts, failed ones included: they are billed too. The cost is a lower bound: the sum of what is
    known, None where there were attempts and nothing is. That an attempt without a token cost nothing says nothing
    about the others."""
    found = list(verdicts)
    billed = [verdict for verdict in found if verdict.usage.tokens or verdict.cost_usd] or found
    costs = [verdict.cost_usd for verdict in billed if verdict.cost_usd is not None]
    return Usage(
        input=sum(verdict.usage.input for verdict in found),
        output=sum(verdict.usage.output for verdict in found),
        cache_read=sum(verdict.usage.cache_read for verdict in found),
        cache_write=sum(verdict.usage.cache_write for verdict in found),
        cost_usd=sum(costs) if costs or not found else None,
    )


def changes_of(attempts: Sequence[AttemptRecord], whole: int | None) -> Changes | None:
    """What the run has changed: what stands after the attempt of the number ``whole``, or else after the last one. The
    patch is named relative to the run's folder. None where the run had no workspace."""
    counts = next((one for one in attempts if one.n == whole), attempts[-1] if attempts else None)
    if counts is None or counts.changes is None or counts.changes.patch is None:
        return None if counts is None else counts.changes
    return counts.changes.model_copy(update={"patch": f"{counts.record}/{counts.changes.patch}"})
