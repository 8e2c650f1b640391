"""A real agent whose answers are checked: one model's change is rejected, the next one's is accepted."""

from __future__ import annotations

from atomic.failures import FailureKind as Kind
from atomic.policy import FallbackPolicy
from atomic.runner import run
from atomic.settings import Settings
from tests.e2e.real import RealAgent

CHECK = "sh -c 'grep right change.txt || { echo change.txt is not right; exit 1; }'"


async def test_one_model_s_change_is_rejected_and_the_next_one_s_accepted(real: RealAgent) -> None:
    result = await run(
        "change it",
        policy=FallbackPolicy(models=["fake/wrong", "other/right"], check=CHECK),
        agent=real.agent,
        cwd=real.work,
        settings=Settings(home=real.store.home),
        store=real.store,
    )
    assert [(one.kind, one.carry) for one in result.attempts] == [(Kind.REJECTED, False), (None, True)]
    assert (result.answer, result.answered_by) == ("Changed it.", "other/right")
    assert (real.work / "change.txt").read_text() == "right\n"
    told = real.requests("other/right")[0]
    assert "change.txt is not right" in told.last_text
    assert "tool" in told.roles, "it sees what the first one did"
