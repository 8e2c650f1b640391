"""What becomes of a verdict by a check of the answer: pure."""

from __future__ import annotations

from atomic.failures import FailureKind
from atomic.verdict.facts import CheckOutcome, CheckReport, Status, Verdict

_KINDS = {
    CheckOutcome.REJECTED: FailureKind.REJECTED,
    CheckOutcome.CANCELLED: FailureKind.CANCELLED,
    CheckOutcome.BROKEN: FailureKind.CONFIGURATION,
}


def checked(verdict: Verdict, report: CheckReport | None) -> Verdict:
    """The verdict of an answered attempt, with what its check said. An answer that was not accepted is kept: the
    attempt failed, and its answer is whole. Verdicts that hold no answer stay as they are."""
    if report is None or not verdict.answered:
        return verdict
    kind = _KINDS.get(report.outcome)
    if kind is None:
        return verdict.model_copy(update={"check": report})
    failed = {"status": Status.FAILED, "kind": kind, "message": report.message, "complete": True}
    return verdict.model_copy(update={**failed, "check": report})
