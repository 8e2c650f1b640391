"""Keeps away: a hard quota is taken for a rate limit and retried all night; its reset time is not read; a wording that
nobody knows is swallowed."""

from __future__ import annotations

import time

from atomic.failures import FailureKind
from tests.agents import Place
from tests.pathology.stage import ask


async def test_a_quota_is_no_rate_limit_and_is_not_tried_again(place: Place) -> None:
    result = await ask(place, "x", "one/quota", "one/ok", "other/ok")
    assert [(attempt.model, attempt.kind) for attempt in result.attempts] == [
        ("one/quota", FailureKind.QUOTA),
        ("other/ok", None),
    ]


async def test_alone_it_ends_the_run_instead_of_the_night(place: Place) -> None:
    result = await ask(place, "x", "one/quota", max_wait=60)
    assert (result.kind, len(result.attempts)) == (FailureKind.QUOTA, 1)


async def test_the_time_of_the_reset_is_read(place: Place) -> None:
    result = await ask(place, "x", "one/quota-7200", "two/rate-limit-retry-after-30", "other/ok")
    quota, rate_limit = (attempt.retry_at for attempt in result.attempts[:2])
    assert quota is not None
    assert rate_limit is not None
    assert 7000 < quota - time.time() <= 7200
    assert rate_limit - time.time() <= 30


async def test_an_unknown_wording_is_shown_as_it_is(place: Place) -> None:
    result = await ask(place, "x", "one/unknown", "other/ok")
    assert result.attempts[0].kind is FailureKind.UNKNOWN
    assert result.attempts[0].message == "The gizmo is out of whack"
    assert result.answered
