"""What a stream and the end of its process mean: each rule by what a user would notice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from atomic.failures import FailureKind
from atomic.framing import Framer, read_records
from atomic.verdict import StopReason, Verdict, VerdictFold, WaitKind, explanation, read_verdict
from atomic.verdict.facts import Status, Usage

Line = dict[str, Any]
RATE_LIMITED = '429: {"message":"Rate limit reached, try again in 20s","type":"rate_limit_error"}'
OVERFLOWED = "400 This model's maximum context length is 8192 tokens."
FREE = {"total": 0}
HEADER: Line = {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-12-01T12:00:00Z", "cwd": "/p"}
AGENT: Line = {"type": "agent_start"}
TURN: Line = {"type": "turn_start"}
SETTLED: Line = {"type": "agent_settled"}
FLAG: Line = {"type": "compaction_end", "reason": "overflow", "unresolvedOverflow": True, "errorMessage": "gave up"}
CANCELLED_RETRY: Line = {"type": "auto_retry_end", "success": False, "attempt": 1, "finalError": "Retry cancelled"}
AT = 1_796_128_000  # seconds since the epoch: what the messages' timestamps say


def user(text: str = "hi") -> Line:
    return {"type": "message_end", "message": {"role": "user", "content": [{"type": "text", "text": text}]}}


def opened(stop: str = "pending") -> Line:
    return {"type": "message_start", "message": {"role": "assistant", "content": [], "stopReason": stop}}


def said(
    text: str = "", stop: str = "stop", *, model: str = "m", tools: tuple[str, ...] = (), **more: Any
) -> list[Line]:
    """An assistant message, opened and ended."""
    content: list[Line] = [{"type": "text", "text": text}] if text else []
    content += [{"type": "toolCall", "id": call, "name": "bash", "arguments": {}} for call in tools]
    usage = {"input": 10, "output": 5, "cacheRead": 2, "cacheWrite": 1, "cost": {"total": 0.25}}
    message: Line = {"role": "assistant", "content": content, "provider": "p", "model": model, "stopReason": stop}
    message |= {"usage": usage, "timestamp": AT * 1000} | more
    return [opened(), {"type": "message_end", "message": message}]


def failed(error: str, **more: Any) -> list[Line]:
    return said("", "error", errorMessage=error, **more)


def tool(call: str, text: str = "done", **more: Any) -> list[Line]:
    content = [{"type": "text", "text": text}]
    result = {"role": "toolResult", "toolCallId": call, "toolName": "bash", "content": content}
    return [
        {"type": "tool_execution_start", "toolCallId": call, "toolName": "bash"},
        {"type": "tool_execution_end", "toolCallId": call, "toolName": "bash", "result": {"content": content}, **more},
        {"type": "message_end", "message": result},
    ]


def run(*lines: Line | list[Line], end: bool = True) -> list[Line]:
    """A low-level run of the agent."""
    body: list[Line] = []
    for line in lines:
        body += line if isinstance(line, list) else [line]
    return [AGENT, TURN, *body, *([{"type": "agent_end", "messages": []}] if end else [])]


def retry(error: str = RATE_LIMITED) -> Line:
    return {"type": "auto_retry_start", "attempt": 1, "maxAttempts": 2, "delayMs": 200, "errorMessage": error}


def framed(*parts: Line | list[Line] | bytes) -> tuple[VerdictFold, Framer]:
    raw = b""
    for part in parts:
        if isinstance(part, bytes):
            raw += part
        else:
            raw += b"".join(json.dumps(line).encode() + b"\n" for line in (part if isinstance(part, list) else [part]))
    framer, fold = Framer(), VerdictFold()
    fold.feed(framer.feed(raw), at=7.0)
    return fold, framer


def verdict(*parts: Line | list[Line] | bytes, exit_code: int | None = 0, **more: Any) -> Verdict:
    fold, framer = framed(*parts)
    fold.feed(framer.close())
    return fold.finish(framer.stats, exit_code=exit_code, **more)


# -- a message that never ends --------------------------------------------------------------------------------------


LOWER_BOUND = "usage of a message that did not end is counted as last told: a lower bound"


def update(**usage: Any) -> Line:
    return {
        "type": "message_update",
        "usage": usage,
        "assistantMessageEvent": {"type": "text_delta", "contentIndex": 0, "delta": "x"},
    }


def written(*lines: Line | list[Line]) -> bytes:
    """As agents write them: without blanks."""
    flat = [line for part in lines for line in (part if isinstance(part, list) else [part])]
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in flat)


def test_a_message_that_never_ended_counts_as_its_last_update_told(tmp_path: Path) -> None:
    told = [update(input=30, output=n, cost={"total": n / 4}) for n in (1, 2)]
    work = run(user(), said("", "toolUse", tools=("a",)), tool("a"), opened(), told, end=False)
    raw = written(HEADER, work)
    stream = tmp_path / "stream.jsonl"
    stream.write_bytes(raw)
    for found in (verdict(raw, exit_code=-9), read_verdict(stream, exit_code=-9)):
        assert (found.usage.input, found.usage.output, found.usage.tokens) == (40, 7, 50)
        assert found.cost_usd == found.usage.cost_usd == 0.75
        assert LOWER_BOUND in found.warnings


def test_a_message_that_ended_is_not_counted_twice() -> None:
    start, end = said("Hello")
    found = verdict(written(HEADER, run(user(), start, update(input=10, output=4, cost={"total": 0.2}), end), SETTLED))
    assert (found.usage.tokens, found.cost_usd, found.warnings) == (18, 0.25, ())


def test_an_open_message_that_told_of_nothing_spent_changes_nothing() -> None:
    for usage in ({}, {"input": 0, "output": 0, "cost": FREE}):
        found = verdict(written(HEADER, run(user(), opened(), update(**usage), end=False)), exit_code=-9)
        assert (found.usage.tokens, found.cost_usd) == (0, 0)
        assert LOWER_BOUND not in found.warnings


def test_tokens_of_an_open_message_for_nothing_are_of_unknown_cost() -> None:
    found = verdict(written(HEADER, run(user(), opened(), update(input=5, cost=FREE), end=False)), exit_code=-9)
    assert (found.usage.tokens, found.cost_usd) == (5, None)


# -- answers --------------------------------------------------------------------------------------------------------


def test_a_text_that_the_model_ended_is_the_answer_and_says_who_gave_it() -> None:
    found = verdict(HEADER, run(user(), said("Hello", responseModel="m-2026")), SETTLED)
    assert (found.answered, found.answer, found.answered_by, found.response_model) == (True, "Hello", "p/m", "m-2026")
    assert found.session_id == "s1"
    assert [(sign.event, sign.line) for sign in found.evidence] == [("message_end", 6)]
    assert not found.warnings


@pytest.mark.parametrize("exit_code", [1, 143, -9])
def test_an_exit_code_does_not_take_an_answer_back(exit_code: int) -> None:
    found = verdict(HEADER, run(user(), said("Hello")), SETTLED, exit_code=exit_code)
    assert found.answered
    assert any("process ended otherwise" in warning for warning in found.warnings)


def test_only_thinking_is_no_answer() -> None:
    content = [{"type": "thinking", "thinking": "hm"}]
    thinking = {"type": "message_end", "message": {"role": "assistant", "stopReason": "stop", "content": content}}
    assert verdict(HEADER, run(user(), thinking), SETTLED).kind is FailureKind.EMPTY


def test_blanks_are_no_answer() -> None:
    assert verdict(HEADER, run(user(), said(" \n")), SETTLED).kind is FailureKind.EMPTY


def test_the_last_prompt_is_the_one_that_counts() -> None:
    first = run(user("one"), said("First"))
    assert verdict(HEADER, first, SETTLED, run(user("two"), said("Second")), SETTLED).answer == "Second"
    assert verdict(HEADER, first, SETTLED, run(user("two"), end=False)).kind is FailureKind.CRASHED


def test_a_cut_message_that_is_gone_on_with_is_joined() -> None:
    found = verdict(HEADER, run(user(), said("The first half, ", "length")), run(said("the second half.")), SETTLED)
    assert found.answer == "The first half, the second half."


def test_a_cut_message_that_is_begun_anew_is_replaced() -> None:
    cut = "It was the best of times, it was"
    found = verdict(HEADER, run(user(), said(cut, "length")), run(said(f"{cut} the worst of times.")), SETTLED)
    assert found.answer == f"{cut} the worst of times."


def test_a_message_after_a_compaction_replaces_the_cut_one() -> None:
    shortened = {"type": "compaction_end", "reason": "threshold", "willRetry": True, "result": {"summary": "…"}}
    found = verdict(HEADER, run(user(), said("Half", "length")), shortened, run(said("Whole")), SETTLED)
    assert found.answer == "Whole"


def test_a_tool_that_ends_the_work_gives_its_result_as_the_answer() -> None:
    work = run(user(), said("Calling.", "toolUse", tools=("a", "b")), tool("a", "one"), tool("b", "two"))
    found = verdict(HEADER, work, SETTLED)
    assert (found.answer, found.answered_by, found.tool_calls) == ("one\ntwo", "p/m", 2)
    assert verdict(HEADER, work, SETTLED, exit_code=1).kind is FailureKind.CRASHED
    assert verdict(HEADER, work[:-1]).kind is FailureKind.CRASHED
    silent = run(user(), said("", "toolUse", tools=("a",)), tool("a", ""))
    assert verdict(HEADER, silent, SETTLED).kind is FailureKind.EMPTY
    short = run(user(), said("", "toolUse", tools=("a", "b")), tool("a"))
    assert verdict(HEADER, short, SETTLED).kind is FailureKind.CRASHED


def test_tool_calls_count_whatever_the_stop_reason_says() -> None:
    found = verdict(
        HEADER, run(user(), said("Let me look.", "stop", tools=("a",)), tool("a")[:1], end=False), exit_code=-9
    )
    assert found.kind is FailureKind.CRASHED


def test_a_lone_surrogate_survives_in_the_answer() -> None:
    assert verdict(HEADER, run(user(), said("a\ud800b")), SETTLED).answer == "a\ud800b"


def test_an_unknown_stop_reason_with_a_text_is_an_answer_with_a_warning() -> None:
    found = verdict(HEADER, run(user(), said("Hello", "end_of_turn")), SETTLED)
    assert found.answered
    assert any("end_of_turn" in warning for warning in found.warnings)
    assert verdict(HEADER, run(user(), said("Hello", "end_of_turn"), end=False)).kind is FailureKind.CRASHED
    assert verdict(HEADER, run(user(), said("No.", "refusal")), SETTLED).kind is FailureKind.REFUSAL


# -- errors ---------------------------------------------------------------------------------------------------------


def test_an_error_of_the_last_message_names_the_kind_and_when_to_come_back() -> None:
    found = verdict(HEADER, run(user(), failed(RATE_LIMITED)), SETTLED)
    assert (found.kind, found.retry_at) == (FailureKind.RATE_LIMIT, AT + 20)
    assert "Rate limit reached" in found.message
    assert "Rate limit reached" in found.evidence[0].text
    assert verdict(HEADER, run(user(), failed(RATE_LIMITED)), SETTLED, now=AT + 5.0).retry_at == AT + 25


def test_a_retry_that_worked_is_an_answer() -> None:
    done = {"type": "auto_retry_end", "success": True, "attempt": 1}
    found = verdict(HEADER, run(user(), failed(RATE_LIMITED)), retry(), run(said("Hello"), done), SETTLED)
    assert (found.answered, found.retries) == (True, 1)


def test_success_of_a_retry_proves_nothing() -> None:
    done = {"type": "auto_retry_end", "success": True, "attempt": 1}
    assert verdict(HEADER, run(user(), failed(RATE_LIMITED)), done, SETTLED).kind is FailureKind.RATE_LIMIT


def test_the_end_of_the_retries_names_the_error_where_the_message_does_not() -> None:
    over = {"type": "auto_retry_end", "success": False, "attempt": 2, "finalError": "529 overloaded_error"}
    assert verdict(HEADER, run(user(), failed("")), over, SETTLED).kind is FailureKind.PROVIDER_UNAVAILABLE
    assert verdict(HEADER, run(user()), over, SETTLED).kind is FailureKind.PROVIDER_UNAVAILABLE
    later = verdict(HEADER, run(user(), failed("")), over, SETTLED, run(user("again"), said("Hello")), SETTLED)
    assert later.answered


def test_a_cause_outranks_a_wrapper_of_the_same_run_only() -> None:
    wrapped = verdict(HEADER, run(user(), failed("402 Insufficient Balance"), failed("terminated")), SETTLED)
    assert wrapped.kind is FailureKind.QUOTA
    assert [sign.line for sign in wrapped.evidence] == [6, 8]
    other_run = verdict(HEADER, run(user(), failed("402 Insufficient Balance")), run(failed("terminated")), SETTLED)
    assert other_run.kind is FailureKind.NETWORK


def test_diagnostics_name_the_cause_of_a_wrapper() -> None:
    diagnostics = [{"type": "provider_error", "error": {"message": "it failed", "code": 401}}]
    assert verdict(HEADER, run(user(), failed("terminated", diagnostics=diagnostics)), SETTLED).kind is FailureKind.AUTH


def test_an_unknown_error_is_shown_as_it_is() -> None:
    found = verdict(HEADER, run(user(), failed("the flux is out of phase")), SETTLED)
    assert (found.kind, found.message) == (FailureKind.UNKNOWN, "the flux is out of phase")


@pytest.mark.parametrize(
    "lines",
    [
        run(user(), said("half", "aborted")),
        [*run(user(), failed(RATE_LIMITED)), retry(), CANCELLED_RETRY],
    ],
)
def test_a_session_that_was_told_to_stop_is_aborted(lines: list[Line]) -> None:
    assert verdict(HEADER, lines, SETTLED).kind is FailureKind.ABORTED


def test_the_output_limit_keeps_what_was_written_but_it_is_no_answer() -> None:
    found = verdict(HEADER, run(user(), said("cut off", "length")), SETTLED)
    assert (found.kind, found.answer, found.partial, found.complete) == (
        FailureKind.OUTPUT_LIMIT,
        "cut off",
        True,
        False,
    )
    assert explanation(found)["answer"] is None


# -- ends in the middle ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stop", ["stop", "pending", "toolUse"])
def test_a_message_that_did_not_end_is_a_crash_whatever_it_says(stop: str) -> None:
    found = verdict(HEADER, run(user(), opened(stop), end=False), exit_code=0)
    assert found.kind is FailureKind.CRASHED
    assert found.evidence[-1].event == "message_start"


@pytest.mark.parametrize("stop", ["pending", "deferred"])
def test_a_message_that_still_waits_is_a_crash(stop: str) -> None:
    assert verdict(HEADER, run(user(), said("x", stop)), SETTLED).kind is FailureKind.CRASHED


def test_a_prompt_without_any_message_is_a_crash() -> None:
    found = verdict(HEADER, run(user(), end=False), exit_code=143)
    assert found.kind is FailureKind.CRASHED
    assert "SIGTERM" in found.message


def test_what_the_process_died_of_stands_in_the_message() -> None:
    stderr = "Warning: x\n    at main (a.js:1)\nRangeError: out of memory\nNode.js v20"
    assert "RangeError: out of memory" in verdict(HEADER, run(user(), end=False), exit_code=1, stderr=stderr).message


@pytest.mark.parametrize(
    ("exit_code", "kind"), [(-9, "crashed"), (143, "crashed"), (0, "rate_limit"), (1, "rate_limit")]
)
def test_an_end_while_a_retry_was_announced(exit_code: int, kind: str) -> None:
    waiting = [*run(user(), failed(RATE_LIMITED)), retry()]
    assert verdict(HEADER, waiting, exit_code=exit_code).kind == kind
    assert verdict(HEADER, waiting, run(end=False), exit_code=exit_code).kind == kind


def test_an_answer_is_not_taken_for_that_of_a_turn_that_never_ended() -> None:
    assert verdict(HEADER, run(user(), said("Hello")), run(end=False), exit_code=-9).kind is FailureKind.CRASHED


# -- overflow -------------------------------------------------------------------------------------------------------


def test_an_overflow_that_was_not_resolved_shows_the_flag_and_the_error() -> None:
    found = verdict(HEADER, run(user(), failed(OVERFLOWED)), FLAG, SETTLED, exit_code=1)
    assert (found.kind, found.unresolved_overflow, found.complete, found.answer) == (
        FailureKind.OVERFLOW,
        True,
        False,
        None,
    )
    assert [sign.event for sign in found.evidence] == ["message_end", "compaction_end"]


def test_an_answer_before_the_overflow_is_kept() -> None:
    found = verdict(HEADER, run(user(), said("Whole answer")), FLAG, SETTLED)
    assert (found.kind, found.complete, found.answer) == (FailureKind.OVERFLOW, True, "Whole answer")
    assert explanation(found)["answer"] == "Whole answer"
    earlier = verdict(HEADER, run(user(), said("Of another prompt")), SETTLED, run(user(), failed(OVERFLOWED)), FLAG)
    assert (earlier.kind, earlier.answer) == (FailureKind.OVERFLOW, None)


def test_a_clean_message_after_the_overflow_is_an_answer() -> None:
    found = verdict(HEADER, run(user(), failed(OVERFLOWED)), FLAG, run(said("Hello", model="other")), SETTLED)
    assert (found.answered, found.answered_by, found.unresolved_overflow) == (True, "p/other", True)
    assert any("changed the model" in warning for warning in found.warnings)
    still = verdict(HEADER, run(user(), failed(OVERFLOWED)), FLAG, run(failed("401 Unauthorized")), SETTLED)
    assert still.kind is FailureKind.OVERFLOW


def test_an_overflow_without_the_flag_is_one_all_the_same() -> None:
    assert verdict(HEADER, run(user(), failed(OVERFLOWED)), {"type": "compaction_start"}).kind is FailureKind.OVERFLOW
    error = "Post-tool context compaction failed before the next provider request: x"
    middle = {"type": "compaction_end", "reason": "threshold", "midTurn": True, "errorMessage": error}
    found = verdict(
        HEADER, run(user(), said("", "toolUse", tools=("a",)), tool("a"), middle, failed("it failed")), SETTLED
    )
    assert found.kind is FailureKind.OVERFLOW


def test_a_truncation_that_could_not_be_recovered_is_no_overflow() -> None:
    error = "Response truncation recovery stopped after one retry."
    stopped = {"type": "compaction_end", "reason": "overflow", "errorMessage": error}
    assert verdict(HEADER, run(user(), said("x", "length")), stopped, SETTLED).kind is FailureKind.OUTPUT_LIMIT


def test_an_inner_fallback_that_answered_is_counted_and_named() -> None:
    away = {"type": "model_fallback_start", "from": "p/m", "to": "p/other", "reason": "429", "attempt": 1}
    found = verdict(HEADER, run(user(), failed(RATE_LIMITED)), away, run(said("Hi", model="other")), SETTLED)
    assert (found.answered_by, found.inner_fallbacks) == ("p/other", 1)


# -- nothing was sent -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stderr", "exit_code", "kind"),
    [
        ("No API key found for openai.\n\nUse /login to log into a provider", 1, "auth"),
        ("No models available. Use /login to log into a provider via OAuth or API key.", 1, "auth"),
        ('Error: Model "a/b" not found. Use --list-models to see available models.', 1, "model_unavailable"),
        ("Error: Unknown provider nosuch", 1, "model_unavailable"),
        ("Configured default model is unavailable or unsupported.", 1, "configuration"),
        ("Error: Unknown option: --nonsense", 2, "configuration"),
        ('Warning: Model "x" not found for provider "fake". Using custom model id.', 1, "configuration"),
        ("", 1, "configuration"),
        ("", 0, "empty"),
        ("", -9, "crashed"),
        ("", 143, "crashed"),
        ("", None, "crashed"),
    ],
)
@pytest.mark.parametrize("header", [[HEADER], [HEADER, {"type": "model_changed", "model": {}}], []])
def test_a_session_that_sent_nothing(header: list[Line], stderr: str, exit_code: int | None, kind: str) -> None:
    found = verdict(header, exit_code=exit_code, stderr=stderr)
    assert found.kind == kind
    if stderr and kind != "configuration":
        assert found.evidence[0].event == "stderr"


@pytest.mark.parametrize(
    "stream",
    [
        b"hello\nthis is no agent\n",
        b'{"event":"start"}\n{"event":"end"}\n',
        b'{"type":"thread.started"}\n{"type":"item"}\n',
    ],
)
def test_what_is_no_agent_is_unreadable(stream: bytes) -> None:
    found = verdict(stream)
    assert found.kind is FailureKind.UNREADABLE
    assert found.evidence


def test_unknown_types_in_a_known_life_are_named_and_do_no_harm() -> None:
    found = verdict(HEADER, {"type": "news"}, run(user(), {"type": "more_news"}, said("Hello")), SETTLED)
    assert (found.answered, found.unknown_types) == (True, ("news", "more_news"))


# -- the runner's own reasons ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stopped", "kind"),
    [
        (StopReason.STARTUP, "stalled"),
        (StopReason.IDLE, "stalled"),
        (StopReason.TOOL, "stalled"),
        (StopReason.TOTAL, "timeout"),
        (StopReason.TURNS, "budget"),
        (StopReason.TOKENS, "budget"),
        (StopReason.COST, "budget"),
        (StopReason.CANCELLED, "cancelled"),
        (StopReason.ORPHANED, "interrupted"),
    ],
)
def test_a_session_that_was_stopped_says_why_unless_it_had_answered(stopped: StopReason, kind: str) -> None:
    found = verdict(HEADER, run(user(), failed(RATE_LIMITED)), retry(), exit_code=143, stopped=stopped)
    assert (found.kind, found.stopped) == (kind, stopped)
    assert found.evidence
    settled = verdict(HEADER, run(user(), said("Hello")), SETTLED, exit_code=143, stopped=stopped)
    assert settled.answered
    # of an agent that never says that it has settled
    closed = [opened("stop"), *said("Hello")[1:]]
    assert verdict(HEADER, run(user(), closed), exit_code=143, stopped=stopped).answered


def test_a_tool_that_ran_too_long_is_named() -> None:
    work = run(user(), said("", "toolUse", tools=("a",)), tool("a")[:1], end=False)
    assert "bash" in verdict(HEADER, work, exit_code=143, stopped=StopReason.TOOL).message


def test_a_process_that_stayed_after_its_end_is_no_failure() -> None:
    found = verdict(HEADER, run(user(), said("Hello")), SETTLED, exit_code=-15, stopped=StopReason.SETTLED)
    assert found.answered
    assert not found.warnings
    work = run(user(), said("", "toolUse", tools=("a",)), tool("a", "tool's word"))
    ended = verdict(HEADER, work, SETTLED, exit_code=-15, stopped=StopReason.SETTLED)
    assert ended.answer == "tool's word"
    limited = verdict(HEADER, run(user(), failed(RATE_LIMITED)), SETTLED, exit_code=143, stopped=StopReason.SETTLED)
    assert limited.kind is FailureKind.RATE_LIMIT


def test_an_orphan_that_had_ended_gets_its_own_verdict() -> None:
    done = verdict(
        HEADER, run(user(), failed("401 Unauthorized")), SETTLED, exit_code=None, stopped=StopReason.ORPHANED
    )
    assert done.kind is FailureKind.AUTH
    whole = verdict(HEADER, run(user(), said("Hello"), end=False), exit_code=None, stopped=StopReason.ORPHANED)
    assert whole.answered


# -- counting -------------------------------------------------------------------------------------------------------


def test_each_message_is_counted_once_and_failed_ones_too() -> None:
    lines = run(user(), failed(RATE_LIMITED), {"type": "turn_end", "message": said("x")[1]["message"]}, said("Hello"))
    found = verdict(HEADER, lines, SETTLED)
    usage = explanation(found)["usage"]
    assert usage == {"input": 20, "output": 10, "cacheRead": 4, "cacheWrite": 2, "cost_usd": 0.5}
    assert (found.cost_usd, found.turns) == (0.5, 1)


def test_a_tools_own_usage_counts_and_the_planners_is_kept_apart() -> None:
    result = {"role": "toolResult", "toolCallId": "a", "content": [], "usage": {"input": 100, "cost": {"total": 1.0}}}
    planned = {"type": "compaction_end", "reason": "threshold", "result": {"usage": {"input": 7, "output": 3}}}
    found = verdict(HEADER, run(user(), said("Hi"), {"type": "message_end", "message": result}), planned, SETTLED)
    assert (found.usage.input, found.usage.cost_usd) == (110, 1.25)
    assert found.compaction_usage is not None
    assert (found.compaction_usage.input, found.compaction_usage.cost_usd) == (7, None)


def test_a_cost_that_nobody_knows_is_none_and_never_zero() -> None:
    unpriced = verdict(HEADER, run(user(), said("Hi", usage={"input": 10, "output": 5})), SETTLED)
    assert (unpriced.usage.cost_usd, unpriced.cost_usd) == (None, None)
    free = verdict(HEADER, run(user(), said("Hi", usage={"input": 10, "output": 5, "cost": FREE})), SETTLED)
    assert (free.usage.cost_usd, free.cost_usd) == (0.0, None)
    assert verdict(HEADER).cost_usd == 0.0
    mixed = verdict(HEADER, run(user(), failed("x", usage={"input": 1}), said("Hi")), SETTLED)
    assert mixed.cost_usd == 0.25
    assert any("lower bound" in warning for warning in mixed.warnings)


def test_failed_tools_are_counted_wherever_the_failure_is_told() -> None:
    first, second = tool("a", isError=True), tool("b", isError=False, result={"content": [], "isError": True})
    found = verdict(HEADER, run(user(), said("", "toolUse", tools=("a", "b")), first, second, said("Sorry")), SETTLED)
    assert (found.tool_calls, found.failed_tool_calls) == (2, 2)
    assert any("every tool call failed" in warning for warning in found.warnings)


def test_a_context_that_was_thrown_away_is_shown() -> None:
    fresh = {"type": "compaction_end", "reason": "overflow", "willRetry": True, "result": {"rung": "fresh"}}
    found = verdict(
        HEADER, run(user(), failed(OVERFLOWED)), {"type": "compaction_start"}, fresh, run(said("Hi")), SETTLED
    )
    assert (found.answered, found.degraded, found.compactions) == (True, True, 1)


def test_noise_damage_and_a_torn_line_are_warnings() -> None:
    found = verdict(HEADER, b"debug: on\n", run(user(), said("Hello")), SETTLED, b"\0\0\n", b'{"type":"ag')
    assert (found.answered, found.noise > 0, found.torn) == (True, True, 11)
    assert {warning.split()[-1] for warning in found.warnings} >= {"records", "bytes)"}


def test_an_answer_without_any_output_tokens_may_have_been_cut() -> None:
    found = verdict(HEADER, run(user(), said("partial", usage={"input": 0, "output": 0, "cost": FREE})))
    assert found.answered
    assert any("may have been cut" in warning for warning in found.warnings)


# -- while the session runs -----------------------------------------------------------------------------------------


def test_the_tools_that_run_are_known_with_their_beginning() -> None:
    fold, _ = framed(HEADER, run(user(), said("", "toolUse", tools=("a",)), tool("a")[:1], end=False))
    assert {call: (open_tool.name, open_tool.since) for call, open_tool in fold.open_tools.items()} == {
        "a": ("bash", 7.0)
    }
    assert (fold.tool, fold.turns, fold.last_model, fold.usage.tokens) == ("bash", 1, "p/m", 18)
    done, _ = framed(HEADER, run(user(), said("", "toolUse", tools=("a",)), tool("a"), end=False))
    assert (done.tool, dict(done.open_tools)) == (None, {})


@pytest.mark.parametrize(
    ("line", "kind", "seconds"),
    [
        (retry(), WaitKind.RETRY, 0.2),
        ({"type": "compaction_start", "reason": "threshold"}, WaitKind.COMPACTION, 0.0),
        ({"type": "summarization_retry_scheduled", "delayMs": 4000}, WaitKind.SUMMARY_RETRY, 4.0),
        ({"type": "summarization_retry_attempt_start"}, WaitKind.SUMMARY, 0.0),
        ({"type": "model_fallback_start", "to": "p/x"}, WaitKind.FALLBACK, 0.0),
    ],
)
def test_an_announced_wait_is_told_until_something_begins(line: Line, kind: WaitKind, seconds: float) -> None:
    waiting, _ = framed(HEADER, run(user(), failed(RATE_LIMITED)), line)
    assert waiting.announced_wait is not None
    assert (waiting.announced_wait.kind, waiting.announced_wait.seconds, waiting.announced_wait.since) == (
        kind,
        seconds,
        7.0,
    )
    assert not waiting.ended
    going_on, _ = framed(HEADER, run(user(), failed(RATE_LIMITED)), line, run(opened(), end=False))
    assert going_on.announced_wait is None


def test_the_agent_is_taken_to_have_ended_only_where_that_is_sure() -> None:
    old_answer = run(user(), opened("stop"), said("Hello")[1:])
    old_error = run(user(), opened("stop"), failed("401 Unauthorized")[1:])
    assert framed(HEADER, old_answer)[0].ended
    assert framed(HEADER, old_error)[0].ended
    assert not framed(HEADER, old_answer[:-1])[0].ended
    assert not framed(HEADER, old_error, retry())[0].ended
    assert not framed(HEADER, old_answer, {"type": "compaction_start"})[0].ended
    # An agent that says agent_settled may still retry without a word.
    assert not framed(HEADER, run(user(), failed("401 Unauthorized")))[0].ended
    settled, _ = framed(HEADER, run(user(), failed("401 Unauthorized")), SETTLED)
    assert settled.settled
    again, _ = framed(HEADER, run(user(), said("Hello")), SETTLED, AGENT)
    assert not again.settled
    assert settled.has_answer is False
    assert framed(HEADER, old_answer)[0].has_answer


# -- reading a file -------------------------------------------------------------------------------------------------


def test_a_finished_stream_is_read_in_one_call(tmp_path: Path) -> None:
    stream = tmp_path / "stream.jsonl"
    stream.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in [HEADER, *run(user(), end=False)]))
    (tmp_path / "stderr.txt").write_bytes(b"fatal: \xff\n")
    found = read_verdict(stream, exit_code=-9, stderr=tmp_path / "stderr.txt")
    assert found.kind is FailureKind.CRASHED
    assert "SIGKILL" in found.message
    assert "fatal" in found.message
    assert read_verdict(stream, stderr=tmp_path / "missing.txt").kind is FailureKind.CRASHED


def test_a_stream_may_be_named_by_text(tmp_path: Path) -> None:
    (tmp_path / "stream.jsonl").write_text('{"type":"session"}\n')
    assert read_verdict(str(tmp_path / "stream.jsonl")) == read_verdict(tmp_path / "stream.jsonl")
    assert [record.type for record in read_records(str(tmp_path / "stream.jsonl"))] == ["session"]


def test_a_verdict_with_half_a_surrogate_pair_is_json_all_the_same() -> None:
    verdict = Verdict(status=Status.ANSWERED, answer="a\ud800b", usage=Usage(cache_read=3))
    said = json.loads(verdict.model_dump_json(by_alias=True, indent=2))
    assert said["answer"] == "a\ud800b"
    assert said["usage"]["cacheRead"] == 3
