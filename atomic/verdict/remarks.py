"""The warnings of a verdict: what does not change it, but a person should know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from atomic.text import one_line
from atomic.verdict.decide import Decision
from atomic.verdict.ending import Ending
from atomic.verdict.facts import StopReason
from atomic.verdict.seen import Seen

if TYPE_CHECKING:
    from atomic.framing import StreamStats

_TYPES_NAMED = 5


def remarks(seen: Seen, ending: Ending, decision: Decision, stats: StreamStats) -> tuple[str, ...]:
    """The warnings, the gravest first."""
    return (*_about_the_answer(seen, ending, decision), *_about_the_work(seen, stats), *_about_the_stream(seen, stats))


def _about_the_answer(seen: Seen, ending: Ending, decision: Decision) -> Iterator[str]:
    if decision.kind is not None:
        return
    last, answer = seen.last, decision.answer
    if ending.stopped is None and ending.exit_code:
        yield f"answered, but the process ended otherwise: {ending.told()}"
    elif ending.stopped not in {None, StopReason.SETTLED}:
        yield f"answered before it was stopped ({ending.stopped})"
    if not ending.finished:
        yield "answered, but the stream ends before the agent said that it was done"
    if last is not None and last.stop not in {"stop", "toolUse"}:
        yield f"the answer's stop reason is unknown: {one_line(last.stop, 80)!r}"
    if last is not None and last.stop == "stop" and last.text.strip() and last.output == 0:
        yield "the provider reported no output tokens for the answer: it may have been cut"
    if answer is not None and answer.model and seen.first_model and answer.model != seen.first_model:
        yield f"the agent changed the model by itself: {one_line(seen.first_model)} → {one_line(answer.model)}"


def _about_the_work(seen: Seen, stats: StreamStats) -> Iterator[str]:
    if seen.tool_calls and seen.failed_tool_calls >= seen.tool_calls:
        yield f"every tool call failed ({seen.failed_tool_calls})"
    if seen.degraded:
        yield "the agent threw its context away and began anew (compaction rung fresh)"
    if seen.spent.priced and seen.spent.unpriced:
        yield f"the cost is a lower bound: {seen.spent.unpriced} messages name none"
    if seen.spent_with(stats.live_usage) is not seen.spent:
        yield "usage of a message that did not end is counted as last told: a lower bound"


def _about_the_stream(seen: Seen, stats: StreamStats) -> Iterator[str]:
    if stats.torn:
        yield f"the last line is torn ({stats.torn} bytes)"
    if stats.damage:
        yield f"the stream is damaged at byte {stats.damage[0].offset} (NUL bytes)"
    if stats.noise:
        yield f"{stats.noise} lines of the output are no records"
    if seen.unknown:
        names = ", ".join(one_line(name, 80) or "(none)" for name in list(seen.unknown)[:_TYPES_NAMED])
        yield f"unknown event types: {names}" + (" …" if len(seen.unknown) > _TYPES_NAMED else "")
