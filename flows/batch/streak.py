"""When so many items in a row fail for the same reason, it is not the items: pure."""

from __future__ import annotations

from dataclasses import dataclass

from atomic.failures import MEANINGS, FailureKind
from atomic.verdict.facts import Status
from flows.database.items import UNDECIDED

# The agent is broken, or there is none: every item would fail like this one.
AT_ONCE = frozenset({FailureKind.UNREADABLE, FailureKind.CONFIGURATION})


@dataclass(frozen=True, slots=True)
class Streak:
    """Failures of one kind since the last answer, or since the last failure of another kind."""

    kind: FailureKind | None = None
    length: int = 0


def after(streak: Streak, status: Status, kind: FailureKind | None) -> Streak:
    """The streak after an item came to this. What was cancelled, interrupted or out of budget says nothing."""
    if status is Status.ANSWERED:
        return Streak()
    if kind is None or kind in UNDECIDED:
        return streak
    return Streak(kind, streak.length + 1 if kind is streak.kind else 1)


def broken(streak: Streak, stop_after: int) -> str | None:
    """Why the batch should not go on, in words; None while it should. ``stop_after`` = 0: it always should."""
    if streak.kind is None or not stop_after:
        return None
    if streak.kind in AT_ONCE:
        return f"{streak.kind}: {MEANINGS[streak.kind]}; every item would fail like this one"
    if streak.length < stop_after:
        return None
    return (
        f"{streak.length} items in a row failed with {streak.kind}, and none was answered between: "
        f"{MEANINGS[streak.kind]}"
    )
