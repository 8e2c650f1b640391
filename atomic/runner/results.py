"""From attempts to what a run came to: pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from atomic.models import ModelRef
from atomic.policy import End
from atomic.record import AttemptRecord, RunRecord
from atomic.record.totals import changes_of, with_attempts
from atomic.runner.facts import RunResult
from atomic.verdict.facts import Status, Verdict


def concluded(
    record: RunRecord, attempts: Sequence[AttemptRecord], end: End, *, ended_at: float, warnings: Sequence[str] = ()
) -> RunRecord:
    """The record of a run that has ended so, with what a reader should be warned of."""
    whole = next((attempt for attempt in attempts if attempt.n == end.attempt), None)
    verdict = None if whole is None else whole.verdict
    told = [*_warnings(attempts), *([end.warning] if end.warning else []), *warnings]
    return with_attempts(record, attempts).model_copy(
        update={
            "status": end.status,
            "kind": end.kind,
            "message": end.message,
            "answer": None if verdict is None else verdict.answer,
            "answered_by": None if whole is None or verdict is None else verdict.answered_by or whole.model,
            "ended_at": ended_at,
            "warnings": tuple(dict.fromkeys(told)),
            "changes": changes_of(attempts, end.attempt),
        }
    )


def result_of(record: RunRecord, verdicts: Sequence[Verdict], place: str) -> RunResult:
    """What a run that has ended came to, as its caller gets it. ``place``: the folder or URL of its files."""
    return RunResult(
        run_id=record.run_id,
        name=record.name,
        status=Status.ANSWERED if record.status == "answered" else Status.FAILED,
        kind=record.kind,
        message=record.message,
        answer=record.answer,
        answered_by=record.answered_by,
        attempts=record.attempts,
        usage=record.usage,
        cost_usd=record.cost_usd,
        seconds=max(0.0, (record.ended_at or record.created_at) - record.created_at),
        record=place,
        flow_run_id=record.flow_run_id,
        warnings=record.warnings,
        changes=record.changes,
        verdicts=tuple(verdicts),
    )


def verdicts_of(attempts: Sequence[AttemptRecord]) -> list[Verdict]:
    """The verdicts that are there."""
    return [attempt.verdict for attempt in attempts if attempt.verdict is not None]


def _warnings(attempts: Sequence[AttemptRecord]) -> Iterator[str]:
    """What should be known of the attempts, each thing once, with the attempts of which it is true."""
    true_of: dict[str, list[int]] = {}
    for attempt in attempts:
        if attempt.verdict is not None:
            for warning in _warnings_of(attempt, attempt.verdict):
                true_of.setdefault(warning, []).append(attempt.n)
    for warning, numbers in true_of.items():
        yield f"attempt{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}: {warning}"


def _warnings_of(attempt: AttemptRecord, verdict: Verdict) -> Iterator[str]:
    """The verdict's own warnings, another model than the one asked, the agent's own retries (they multiply with the
    policy's), and a cost that nobody knows."""
    yield from verdict.warnings
    asked = None if attempt.model is None else ModelRef.parse(attempt.model).name
    if asked is not None and verdict.answered_by not in (None, asked):
        yield f"{asked} was asked, {verdict.answered_by} answered"
    if verdict.retries:
        yield f"the agent itself tried again {verdict.retries} {'time' if verdict.retries == 1 else 'times'}"
    if verdict.cost_usd is None and verdict.usage.tokens:
        yield f"nobody knows what its {verdict.usage.tokens} tokens cost"
