"""Keeps away: everything cools down, so the first is tried again, dozens of times; two ladders lead into each other."""

from __future__ import annotations

import pytest

from atomic.errors import PolicyError
from atomic.failures import FailureKind
from atomic.policy import resolve_policies
from tests.agents import Place
from tests.pathology.stage import ask


async def test_a_run_is_bounded_even_where_nothing_ever_cools(place: Place) -> None:
    no_cooldown = {"rate_limit": 0}
    result = await ask(place, "x", "one/rate-limit", "two/rate-limit", max_attempts=5, cooldown=no_cooldown)
    assert len(result.attempts) == 5
    assert result.kind is FailureKind.RATE_LIMIT


async def test_where_all_cool_for_longer_than_a_run_may_wait_it_ends_at_once(place: Place) -> None:
    result = await ask(place, "x", "one/rate-limit", "two/rate-limit", max_wait=1)
    assert [attempt.model for attempt in result.attempts] == ["one/rate-limit", "two/rate-limit"]
    assert not result.answered


def test_policies_that_extend_each_other_are_refused() -> None:
    with pytest.raises(PolicyError, match="in a circle: a → b → a"):
        resolve_policies({"a": {"extends": "b", "models": ["x/y"]}, "b": {"extends": "a", "models": ["x/y"]}})
