"""Keeps away: the agent changes the model by itself and says nothing: results of one model stand under the name of
another."""

from __future__ import annotations

from tests.agents import Place
from tests.pathology.stage import ask


async def test_who_answered_is_in_every_result(place: Place) -> None:
    result = await ask(place, "x", "one/inner-fallback")
    assert result.attempts[0].model == "one/inner-fallback"
    assert result.answered_by == result.attempts[0].answered_by == "one/ok"
    assert any("one/inner-fallback was asked, one/ok answered" in warning for warning in result.warnings)
    assert result.to_json()["answered_by"] == "one/ok"
    assert place.store.read(result.run_id).answered_by == "one/ok"
