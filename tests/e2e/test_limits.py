"""A batch on a real agent whose first provider turns everybody away for a while."""

from __future__ import annotations

import pytest

from atomic.failures import FailureKind as Kind
from flows.batch import probes
from tests.chaos.limits import SECOND, Limited, Plan
from tests.e2e.real import RealAgent
from tests.e2e.releases import RELEASES

PLAN = Plan(items=12, concurrency=2, before=2, meanwhile=2)


@pytest.mark.parametrize("real", RELEASES[:1], indirect=True, ids=str)
async def test_it_goes_on_with_the_second_provider_and_comes_back_to_the_first(
    real: RealAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probes, "FIRST_PAUSE", 0.5)
    limited = Limited(real, PLAN)
    result = await limited.to_its_end()
    assert (result.answered, result.failed) == (PLAN.items, 0)
    runs = limited.runs()
    assert [run.answered_by for run in runs].count(SECOND) >= PLAN.meanwhile
    again = next(look for look in limited.looks if look.phase == "open again")
    assert limited.looks[-1].taken[0] > again.taken[0], "it comes back"
    refused = [one for run in runs for one in run.attempts if one.kind is Kind.RATE_LIMIT]
    assert 1 <= len(refused) <= PLAN.concurrency, "those at work find it out for all"
    assert {look.share for look in limited.looks if look.phase == "turned away"} >= {PLAN.concurrency, 1}
