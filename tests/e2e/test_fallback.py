"""A real agent whose first model fails: the next one answers, and the record says why."""

from __future__ import annotations

from typing import Any

import pytest

from atomic.errors import NoModelAnswered
from atomic.failures import FailureKind as Kind
from atomic.verdict import Status
from tests.e2e.real import RealAgent

ANSWER = "Hello from fake model."
AT_ONCE = {"auth": "other-provider"}  # without the retry: each start of a real agent takes seconds
SILENCE = 4.0  # seconds; longer than the agent takes from its first byte to its request


@pytest.mark.parametrize(
    ("model", "kind"),
    [("fake/overflow", Kind.OVERFLOW), ("fake/rl-forever", Kind.RATE_LIMIT), ("fake/s401", Kind.AUTH)],
    ids=["overflow", "429", "401"],
)
async def test_the_next_provider_answers(model: str, kind: Kind, real: RealAgent) -> None:
    result = await real.ask("say hi", model, "other/ok", on=AT_ONCE)
    assert result.answer == ANSWER
    assert result.answered_by == "other/ok"
    assert [(attempt.model, attempt.kind) for attempt in result.attempts] == [(model, kind), ("other/ok", None)]
    assert not result.attempts[1].carry
    assert real.requests(model)
    assert len(real.requests("other/ok")) == 1
    assert real.requests("other/ok")[0].last_text == "say hi"


async def test_silent_models_are_left(real: RealAgent) -> None:
    result = await real.ask("say hi", "fake/hang", "other/hangmid", "fake/ok", limits={"idle": SILENCE})
    assert [attempt.kind for attempt in result.attempts] == [Kind.STALLED, Kind.STALLED, None]
    assert result.answer == ANSWER


async def test_unknown_provider_and_missing_key_cost_no_request(real: RealAgent) -> None:
    result = await real.ask("say hi", "nosuch/model", "openai/gpt-4o", "fake/ok", on=AT_ONCE)
    assert [attempt.kind for attempt in result.attempts] == [Kind.MODEL_UNAVAILABLE, Kind.AUTH, None]
    assert len(real.requests()) == 1


async def test_all_models_failing_names_each_with_its_kind(real: RealAgent) -> None:
    with pytest.raises(NoModelAnswered) as raised:
        await real.ask("say hi", "fake/s401", "other/nosuch", on=AT_ONCE)
    result: Any = raised.value.result
    assert result.status is Status.FAILED
    assert [attempt.kind for attempt in result.attempts] == [Kind.AUTH, Kind.MODEL_UNAVAILABLE]
    assert result.kind is Kind.MODEL_UNAVAILABLE
    for said in ("fake/s401", "auth", "other/nosuch", "model_unavailable"):
        assert said in raised.value.message
