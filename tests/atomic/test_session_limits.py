"""Each limit of a session, on agents that cross it."""

from __future__ import annotations

from pathlib import Path

import pytest

from atomic.failures import FailureKind
from atomic.policy.facts import Limits
from atomic.runner.costs import left_of as budget_left
from atomic.session import run_attempt
from atomic.verdict.facts import Status, StopReason
from tests.agents import Place, closing, left_of, message, opening, say, tool_end, tool_start

RETRY = {"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 60_000, "errorMessage": "429"}
COMPACTION = {"type": "compaction_start", "reason": "threshold"}
COMPACTED = {"type": "compaction_end", "reason": "threshold", "aborted": False, "willRetry": True, "result": {}}
UPDATE = {
    "type": "message_update",
    "usage": {"input": 900, "output": 200, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 3.0}},
    "assistantMessageEvent": {"type": "text_delta", "contentIndex": 0, "delta": "x"},
}
STARTED = {"type": "message_start", "message": {"role": "assistant", "content": [], "stopReason": "pending"}}
FOR_EVER = "exec sleep 1000\n"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize(
    ("script", "limits", "stopped", "kind"),
    [
        pytest.param(FOR_EVER, {"startup": 0.2}, StopReason.STARTUP, FailureKind.STALLED, id="startup"),
        pytest.param(say(*opening()) + FOR_EVER, {"idle": 0.2}, StopReason.IDLE, FailureKind.STALLED, id="idle"),
        pytest.param(
            say(*opening(), tool_start()) + FOR_EVER,
            {"tool": 0.2, "idle": 0.1},
            StopReason.TOOL,
            FailureKind.STALLED,
            id="tool",
        ),
        pytest.param(
            say(*opening(), COMPACTION, COMPACTED) + FOR_EVER,
            {"idle": 0.2},
            StopReason.IDLE,
            FailureKind.STALLED,
            id="a turn that never goes on after its compaction",
        ),
        pytest.param(
            say(*opening()) + "while :; do echo noise; sleep 0.02; done\n",
            {"total": 0.3},
            StopReason.TOTAL,
            FailureKind.TIMEOUT,
            id="total",
        ),
        pytest.param(
            say(*opening(), *({"type": "turn_start"} for _ in range(3))) + FOR_EVER,
            {"turns": 3},
            StopReason.TURNS,
            FailureKind.BUDGET,
            id="turns",
        ),
        pytest.param(
            say(*opening(), message("", "toolUse", tokens=50), message("", "toolUse", tokens=50)) + FOR_EVER,
            {"tokens": 100},
            StopReason.TOKENS,
            FailureKind.BUDGET,
            id="tokens",
        ),
        pytest.param(
            say(*opening(), message("", "toolUse", cost=0.5), message("", "toolUse", cost=0.6)) + FOR_EVER,
            {"cost_usd": 1},
            StopReason.COST,
            FailureKind.BUDGET,
            id="cost",
        ),
        pytest.param(
            say(*opening(), STARTED, UPDATE) + FOR_EVER,
            {"tokens": 1000},
            StopReason.TOKENS,
            FailureKind.BUDGET,
            id="tokens of the message in flight",
        ),
        pytest.param(
            say(*opening(), message("", "toolUse", cost=0.5), STARTED, UPDATE) + FOR_EVER,
            {"cost_usd": 3.2},
            StopReason.COST,
            FailureKind.BUDGET,
            id="cost of the message in flight",
        ),
    ],
)
async def test_a_session_that_crosses_a_limit_is_stopped(
    place: Place, script: str, limits: dict[str, float], stopped: StopReason, kind: FailureKind
) -> None:
    spec = place.spec(script, limits=Limits.model_validate(limits))
    record = await run_attempt(spec)
    assert record.kind is kind
    assert record.verdict is not None
    assert record.verdict.stopped is stopped
    assert left_of(spec) == []


async def test_what_a_message_that_never_ended_spent_is_taken_from_the_budget(place: Place) -> None:
    limits = Limits(tokens=5000, cost_usd=4, idle=0.2)
    record = await place.run(say(*opening(), STARTED, UPDATE) + FOR_EVER, limits=limits)
    assert record.kind is FailureKind.STALLED
    assert record.verdict is not None
    assert (record.verdict.usage.tokens, record.verdict.cost_usd) == (1100, 3.0)
    left = budget_left(limits, [record.verdict])
    assert (left.tokens, left.cost_usd) == (3900, 1.0)


@pytest.mark.parametrize(
    "before",
    [
        pytest.param([tool_start()], id="a tool that runs"),
        pytest.param([RETRY], id="an announced retry"),
        pytest.param([COMPACTION], id="an open compaction"),
        pytest.param(
            [COMPACTION, {"type": "summarization_retry_scheduled", "attempt": 1, "delayMs": 60_000}],
            id="an announced retry of the summary",
        ),
    ],
)
async def test_silence_that_the_agent_announced_is_not_idleness(place: Place, before: list[dict[str, object]]) -> None:
    script = say(*opening(), *before) + "sleep 0.8\n" + say(tool_end(), message("done"), *closing())
    record = await place.run(script, limits=Limits(idle=0.2))
    assert record.status is Status.ANSWERED


async def test_an_answer_that_had_settled_survives_every_stop(place: Place) -> None:
    script = say(*opening(), message("done", tokens=10**6), *closing()) + FOR_EVER
    record = await place.run(script, limits=Limits(settle=0.2, tokens=10, idle=0.1, total=0.1))
    assert record.status is Status.ANSWERED
    assert record.verdict is not None
    assert record.verdict.answer == "done"


async def test_a_stream_of_some_size_is_read_to_its_end(place: Place) -> None:
    noise = "head -c 20000000 /dev/zero | tr '\\0' 'n'; echo\n"
    record = await place.run(say(*opening()) + noise + say(message("after it"), *closing()))
    assert record.verdict is not None
    assert record.verdict.answer == "after it"
    assert record.verdict.noise == 1
    assert record.stream is not None
    assert record.stream.bytes > 20_000_000
