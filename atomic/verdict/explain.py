"""Why a stream got its verdict, as one JSON object."""

from __future__ import annotations

from typing import Any

from atomic.verdict.facts import Verdict


def explanation(verdict: Verdict, *, unfinished: bool = False) -> dict[str, Any]:
    """The object that `explain --json` prints. `unfinished`: the session is still at work, so that the verdict holds
    only what it did and used so far; its status is `running`, and nothing has been decided.

    `answer` and `answered_by` are those of a whole answer: of an answered prompt, or of one that overflowed after it.
    A text that the output limit cut is no answer; the verdict itself keeps it.
    """
    whole = not unfinished and (verdict.answered or verdict.complete)
    return {
        "status": "running" if unfinished else verdict.status.value,
        "kind": None if unfinished or verdict.kind is None else verdict.kind.value,
        "message": "" if unfinished else verdict.message,
        "answer": verdict.answer if whole else None,
        "answered_by": verdict.answered_by if whole else None,
        "evidence": [] if unfinished else [evidence.model_dump() for evidence in verdict.evidence],
        "usage": verdict.usage.model_dump(by_alias=True, include=set(type(verdict.usage).model_fields)),
        "records": verdict.records,
        "noise": verdict.noise,
        "settled": verdict.settled,
        "unresolved_overflow": verdict.unresolved_overflow,
        "exit_code": verdict.exit_code,
        "warnings": [] if unfinished else list(verdict.warnings),
        "check": None if verdict.check is None else verdict.check.model_dump(mode="json"),
    }
