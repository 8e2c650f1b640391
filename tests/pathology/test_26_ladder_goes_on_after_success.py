"""Keeps away: the fallback goes on after an answer, and pays for it again with each further model."""

from __future__ import annotations

import pytest

from tests.agents import Place
from tests.pathology.stage import ask


@pytest.mark.parametrize("first", ["ok", "wrong-exit-1", "rate-limit-once", "overflow-once", "noisy", "never-exits"])
async def test_after_an_answer_nothing_starts(place: Place, first: str) -> None:
    result = await ask(place, "x", f"one/{first}", "two/ok", "three/ok", limits={"settle": 0.3})
    assert result.answered
    assert [attempt.model for attempt in result.attempts] == [f"one/{first}"]
