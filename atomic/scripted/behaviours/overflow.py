"""Overflows of the context and of the output, in the shapes that the clients give them."""

from __future__ import annotations

from atomic.scripted import tools
from atomic.scripted.agent import Agent
from atomic.scripted.behaviours.failures import OVERFLOW
from atomic.scripted.usage import SYSTEM_TOKENS

STOPPED = (
    "Context overflow recovery failed after one compact-and-retry attempt. "
    "Try reducing context or switching to a larger-context model."
)
WORK = "echo worked >> worked.txt"  # leaves a trace: who does the work twice has two lines


def overflow(agent: Agent, _: int) -> None:
    agent.begin()
    _overflow_for_good(agent)


def overflow_unflagged(agent: Agent, _: int) -> None:
    agent.begin()
    agent.fail(OVERFLOW)
    agent.settle()


def overflow_compacting(agent: Agent, _: int) -> None:
    agent.begin()
    agent.fail(OVERFLOW)
    agent.wire.emit("compaction_start", reason="overflow")


def overflow_once(agent: Agent, _: int) -> None:
    agent.begin()
    agent.fail(OVERFLOW)
    _compact(agent)
    agent.begin_run()
    agent.answer("Recovered ", "after compaction.")


def degraded(agent: Agent, _: int) -> None:
    agent.begin()
    agent.fail(OVERFLOW)
    _compact(agent, rung="fresh")
    agent.begin_run()
    agent.answer("Recovered ", "without my memory.")


def overflow_with_answer(agent: Agent, _: int) -> None:
    agent.begin()
    agent.say("The answer ", "is whole.")
    agent.end_run()
    agent.wire.emit("compaction_start", reason="overflow")
    _give_up(agent)
    agent.settle()


def output_limit(agent: Agent, _: int) -> None:
    agent.begin()
    agent.say("cut off", stop="length")
    agent.end_run()
    agent.wire.emit("compaction_start", reason="overflow")
    agent.wire.emit("compaction_end", reason="overflow", aborted=False, willRetry=False)
    agent.begin_run()
    agent.say("cut off", stop="length")
    agent.end_run()
    agent.wire.emit(
        "compaction_end",
        reason="overflow",
        aborted=False,
        willRetry=False,
        errorMessage="Response truncation recovery stopped after one retry.",
    )
    agent.settle()


def length_continued(agent: Agent, _: int) -> None:
    agent.begin()
    agent.say("The first half, ", stop="length")
    agent.end_run()
    agent.begin_run()
    agent.answer("and the second.")


def tool_overflow(agent: Agent, _: int) -> None:
    """The work is done once in a conversation: what was carried here is seen."""
    agent.begin()
    if not any(message["role"] == "toolResult" for message in agent.session.history):
        tools.use(agent, WORK)
        agent.begin_turn()
    _overflow_for_good(agent)


def _overflow_for_good(agent: Agent) -> None:
    agent.fail(OVERFLOW)
    _compact(agent)
    agent.begin_run()
    agent.fail(OVERFLOW)
    _give_up(agent)
    agent.settle()


def _compact(agent: Agent, **more: str) -> None:
    result = {
        "summary": "## Goal\nAs asked.\n",
        "tokensBefore": SYSTEM_TOKENS,
        "estimatedTokensAfter": SYSTEM_TOKENS // 2,
        **more,
    }
    agent.wire.emit("compaction_start", reason="overflow")
    agent.wire.emit("compaction_end", reason="overflow", result=result, aborted=False, willRetry=True)


def _give_up(agent: Agent) -> None:
    agent.wire.emit(
        "compaction_end",
        reason="overflow",
        aborted=False,
        willRetry=False,
        unresolvedOverflow=True,
        errorMessage=STOPPED,
    )
