"""Keeps away: after an overflow's compaction the agent says that it goes on, and never does: the run hangs for ever."""

from __future__ import annotations

from atomic.failures import FailureKind
from tests.agents import Place, answer, closing, opening, say
from tests.pathology.stage import ask
from tests.pathology.test_19_exit_code_that_lies import error
from tests.pathology.test_20_agent_end_taken_for_the_end import COMPACTED, COMPACTING

OVERFLOW = error("400 This model's maximum context length is 8192 tokens")


async def test_what_is_announced_has_a_deadline_and_the_next_model_answers(place: Place) -> None:
    hangs = say(*opening(), OVERFLOW, closing()[0], COMPACTING, COMPACTED) + "exec sleep 1000\n"
    agent = place.agent(f'case "$*" in *first/model*)\n{hangs};;\n*)\n{answer("the other one")};;\nesac\n')
    result = await ask(place, "x", "first/model", "other/model", agent=agent, limits={"idle": 0.5})
    assert [attempt.kind for attempt in result.attempts] == [FailureKind.STALLED, None]
    assert result.answer == "the other one"
