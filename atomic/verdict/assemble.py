"""The verdict, put together from the decision and all that the stream told on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atomic.failures import FailureKind, read_retry_at
from atomic.text import one_line
from atomic.verdict.decide import Decision
from atomic.verdict.ending import Ending
from atomic.verdict.facts import Evidence, Status, Usage, Verdict
from atomic.verdict.remarks import remarks
from atomic.verdict.seen import Seen
from atomic.verdict.signs import Sign

if TYPE_CHECKING:
    from atomic.framing import StreamStats

_MESSAGE_LENGTH = 500
_EVIDENCE_LENGTH = 1_000
# Only for these kinds does a time in the text say when to try again.
_PASSING = frozenset({FailureKind.RATE_LIMIT, FailureKind.QUOTA, FailureKind.PROVIDER_UNAVAILABLE})


def assemble(seen: Seen, ending: Ending, decision: Decision, stats: StreamStats, *, now: float | None) -> Verdict:
    """All the facts as one. `now` as in :meth:`VerdictFold.finish`."""
    answer, usage = decision.answer, seen.spent_with(stats.live_usage).usage()
    compaction = seen.compaction_spent.usage()
    return Verdict(
        status=Status.ANSWERED if decision.kind is None else Status.FAILED,
        kind=decision.kind,
        message=one_line(decision.message, _MESSAGE_LENGTH),
        answer=answer.text if answer else None,
        complete=decision.complete,
        answered_by=answer.model if answer else None,
        response_model=answer.response_model if answer else None,
        retry_at=_retry_at(seen, decision, now),
        evidence=tuple(_evidence(sign) for sign in decision.signs),
        usage=usage,
        compaction_usage=compaction if seen.compaction_spent.priced or seen.compaction_spent.unpriced else None,
        cost_usd=_known_cost(usage),
        turns=seen.turns,
        tool_calls=seen.tool_calls,
        failed_tool_calls=seen.failed_tool_calls,
        retries=seen.retries,
        compactions=seen.compactions,
        degraded=seen.degraded,
        inner_fallbacks=seen.inner_fallbacks,
        settled=seen.ever_settled,
        unresolved_overflow=seen.ever_overflow,
        exit_code=ending.exit_code,
        stopped=ending.stopped,
        records=stats.records,
        noise=stats.noise,
        torn=stats.torn,
        unknown_types=tuple(one_line(name, 80) for name in seen.unknown),
        session_id=seen.session_id,
        warnings=remarks(seen, ending, decision, stats),
    )


def _evidence(sign: Sign) -> Evidence:
    return Evidence(event=sign.event, line=sign.line, offset=sign.offset, text=one_line(sign.text, _EVIDENCE_LENGTH))


def _known_cost(usage: Usage) -> float | None:
    """The cost, where it is known: agents write 0 for a model whose price they do not know, so tokens for nothing are
    of unknown cost."""
    return None if usage.cost_usd == 0 and usage.tokens else usage.cost_usd


def _retry_at(seen: Seen, decision: Decision, now: float | None) -> float | None:
    if decision.kind not in _PASSING:
        return None
    base = now if now is not None else seen.last.said_at if seen.last is not None else None
    if base is None:
        return None
    texts = [decision.message, *(sign.text for sign in decision.signs)]
    return next((found for text in texts if (found := read_retry_at(text, base)) is not None), None)
