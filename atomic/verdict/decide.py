"""From what was seen to what it means: the rules in their order. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from atomic.failures import FailureKind, classify, is_wrapper
from atomic.verdict.answers import answer_of, full_answer, spoken, tool_answer
from atomic.verdict.ending import Ending
from atomic.verdict.facts import StopReason
from atomic.verdict.seen import Answer, Seen
from atomic.verdict.signs import Said, Sign
from atomic.verdict.startup import read_startup

_STOPPED: dict[StopReason, tuple[FailureKind, str]] = {
    StopReason.STARTUP: (FailureKind.STALLED, "nothing came from the agent within the startup limit"),
    StopReason.IDLE: (FailureKind.STALLED, "the agent was silent beyond the idle limit"),
    StopReason.TOOL: (FailureKind.STALLED, "a tool ran beyond the tool limit"),
    StopReason.TOTAL: (FailureKind.TIMEOUT, "the session ran beyond its total limit"),
    StopReason.TURNS: (FailureKind.BUDGET, "the limit of turns was reached"),
    StopReason.TOKENS: (FailureKind.BUDGET, "the token budget was reached"),
    StopReason.COST: (FailureKind.BUDGET, "the cost budget was reached"),
    StopReason.CANCELLED: (FailureKind.CANCELLED, "the session was cancelled"),
}


@dataclass(frozen=True, slots=True)
class Decision:
    """What it came to. `kind` None means answered; `complete` that a failure holds a whole answer all the same."""

    kind: FailureKind | None
    message: str = ""
    signs: tuple[Sign, ...] = ()
    answer: Answer | None = None
    complete: bool = False


def decide(seen: Seen, ending: Ending) -> Decision:
    """The first rule that holds: the runner's own reason to stop, then what the stream and the exit say."""
    own = _by_itself(seen, ending)
    stopped = ending.stopped
    if stopped is None or stopped is StopReason.SETTLED:
        return own
    if stopped is StopReason.ORPHANED:
        # An answer that is whole is never bought twice, even if the last words of the stream are missing.
        if ending.finished or own.kind is None:
            return own
        message = "the run's own process died, and the session did not come to its end"
        return Decision(FailureKind.INTERRUPTED, message, _latest(seen))
    if ending.finished and (own.kind is None or own.complete):
        return own
    kind, message = _STOPPED[stopped]
    if seen.open_tools and stopped is StopReason.TOOL:
        message += f": {next(reversed(seen.open_tools.values())).name}"
    return Decision(kind, message, _latest(seen))


def _latest(seen: Seen) -> tuple[Sign, ...]:
    """What had been heard when the runner stopped it, in the order of the stream."""
    last = seen.last.at if seen.last is not None else None
    found = (seen.overflow, last, seen.retry, seen.final_error, seen.opened or seen.latest)
    return tuple(sorted({sign for sign in found if sign is not None}, key=lambda sign: sign.line))


def _by_itself(seen: Seen, ending: Ending) -> Decision:
    if not seen.lifecycle:
        return _nothing_sent(seen, ending)
    if seen.overflow is not None:
        return _overflowed(seen, seen.overflow)
    if seen.opened is not None:
        return _crashed(ending, "a message had begun and did not end", seen.opened)
    if seen.retry_cancelled is not None:
        return Decision(FailureKind.ABORTED, seen.retry_cancelled.text, (seen.retry_cancelled,))
    last = seen.last
    if last is None or seen.prompted:
        return _unanswered(seen, ending)
    if seen.retry is not None and not ending.by_itself:
        return _crashed(ending, "it ended while a retry was announced", seen.retry)
    if seen.resumed and not ending.finished and last.stop in {"stop", "length"}:
        return _crashed(ending, "a turn had begun and did not end", last.at)
    return _last_message(seen, ending, last)


def _nothing_sent(seen: Seen, ending: Ending) -> Decision:
    """No prompt was sent: the agent refused to start, or this is no agent."""
    startup = read_startup(ending.stderr)
    heard = startup.at or seen.latest or ending.noise
    signs = (heard,) if heard is not None else ()
    if startup.kind is not None:
        return Decision(startup.kind, startup.at.text if startup.at else "", signs)
    if seen.first_unknown is not None:
        types = ", ".join(repr(name) for name in list(seen.unknown)[:3])
        return Decision(FailureKind.UNREADABLE, f"no event of a known agent; types: {types}", (seen.first_unknown,))
    if ending.signal is not None:
        return _crashed(ending, "it ended before a prompt was sent", *signs)
    if ending.exit_code:
        message = startup.at.text if startup.at else f"the agent did not start ({ending.told()})"
        return Decision(FailureKind.CONFIGURATION, message, signs)
    if ending.noise is not None and not ending.records:
        return Decision(FailureKind.UNREADABLE, "the output is no event stream", (ending.noise,))
    if ending.exit_code is None:
        return _crashed(ending, "it ended before a prompt was sent", *signs)
    return Decision(FailureKind.EMPTY, "the agent ended without sending a prompt", signs)


def _overflowed(seen: Seen, flag: Sign) -> Decision:
    cause = (seen.last.at,) if seen.last is not None else ()
    message = flag.text or (seen.last.error if seen.last is not None else "") or "the context overflowed"
    answer = seen.overflow_answer
    return Decision(FailureKind.OVERFLOW, message, (*cause, flag), answer, complete=answer is not None)


def _unanswered(seen: Seen, ending: Ending) -> Decision:
    """The prompt has no message at all. An event may still name the error."""
    named = seen.final_error or seen.retry
    if named is not None and ending.by_itself and (kind := classify(named.text)) is not FailureKind.UNKNOWN:
        return Decision(kind, named.text, (named,))
    heard = named or seen.latest
    return _crashed(ending, "it ended before any message", *((heard,) if heard is not None else ()))


def _last_message(seen: Seen, ending: Ending, last: Said) -> Decision:
    match last.stop:
        case "error":
            return _error(seen, last)
        case "aborted":
            return Decision(FailureKind.ABORTED, last.error or "the agent aborted the message", (last.at,))
        case "length":
            text = spoken(seen, last)
            answer = answer_of(seen, last, text) if text.strip() else None
            return Decision(FailureKind.OUTPUT_LIMIT, "the output limit cut the message", (last.at,), answer)
        case "pending" | "deferred":
            return _crashed(ending, f"the last message is still {last.stop}", last.at)
        case "stop" | "toolUse":
            return _tools_last(seen, ending, last) if last.runs_tools else _stopped(seen, ending, last)
        case _:
            return _odd_stop(seen, ending, last)


def _stopped(seen: Seen, ending: Ending, last: Said) -> Decision:
    if last.more_to_come and not ending.finished:
        return _crashed(ending, "the model had not ended its turn", last.at)
    answer = full_answer(seen)
    if answer is not None:
        return Decision(None, signs=(last.at,), answer=answer)
    if classify(last.raw_stop) is FailureKind.REFUSAL:
        return Decision(FailureKind.REFUSAL, f"the provider stopped it: {last.raw_stop}", (last.at,))
    return Decision(FailureKind.EMPTY, last.error or "the last message has no text", (last.at,))


def _tools_last(seen: Seen, ending: Ending, last: Said) -> Decision:
    """A tool may end the work: then all results are there, and the agent settled of its own accord."""
    if seen.settled_aborted:
        return Decision(FailureKind.ABORTED, "the agent aborted its tools", (last.at,))
    well = ending.finished and (ending.stopped is StopReason.SETTLED or ending.exit_code in {0, None})
    if well and last.tool_calls and all(call in seen.results for call in last.tool_calls):
        answer = tool_answer(seen, last)
        if answer is None:
            return Decision(FailureKind.EMPTY, "the tool that ended the work gave no text", (last.at,))
        return Decision(None, signs=(last.at,), answer=answer)
    running = ", ".join(tool.name for tool in seen.open_tools.values())
    what = f"it ended while a tool ran: {running}" if running else "it ended after a tool ran"
    return _crashed(ending, what, last.at)


def _odd_stop(seen: Seen, ending: Ending, last: Said) -> Decision:
    """A stop reason nobody knows. What names a refusal is one; a text that the agent was content with counts."""
    if classify(f"{last.stop} {last.raw_stop}") is FailureKind.REFUSAL:
        return Decision(FailureKind.REFUSAL, last.error or f"the provider stopped it: {last.stop}", (last.at,))
    if last.error:
        return _error(seen, last)
    if not ending.finished:
        return _crashed(ending, "the last message names no known stop reason", last.at)
    if last.text.strip():
        return Decision(None, signs=(last.at,), answer=answer_of(seen, last, last.text))
    return Decision(FailureKind.EMPTY, "the last message has no text", (last.at,))


def _error(seen: Seen, last: Said) -> Decision:
    """The kind of the last message's error. Where its text is but a wrapper, the first cause that names one counts."""
    own = f"{last.error} {last.raw_stop}".strip() if is_wrapper(last.error) else last.error or last.raw_stop
    kind = classify(own)
    if kind is not FailureKind.UNKNOWN and not is_wrapper(last.error):
        return Decision(kind, last.error or own, (last.at,))
    for text, code in last.causes:
        if not is_wrapper(text) and (named := classify(text, code=code)) is not FailureKind.UNKNOWN:
            return Decision(named, text or last.error, (last.at,))
    for found in (*seen.errors, seen.retry, seen.final_error):
        if found is None or found == last.at or is_wrapper(found.text):
            continue
        if (named := classify(found.text)) is not FailureKind.UNKNOWN:
            return Decision(named, found.text, (found, last.at))
    final = seen.final_error.text if seen.final_error is not None else ""
    return Decision(kind, last.error or final or "an error without a text", (last.at,))


def _crashed(ending: Ending, what: str, *signs: Sign) -> Decision:
    said = read_startup(ending.stderr).at
    return Decision(FailureKind.CRASHED, f"{what} ({ending.told()})" + (f": {said.text}" if said else ""), signs)
