"""Keeps away: a specific cause is overwritten by what it led to: "exited before completing", "terminated", an exit
code."""

from __future__ import annotations

import pytest

from atomic.failures import FailureKind
from tests.agents import Place, closing, opening
from tests.pathology.stage import lines, plays
from tests.pathology.test_19_exit_code_that_lies import error

QUOTA = error("429 You exceeded your current quota, please check your plan and billing details.")


@pytest.mark.parametrize("wrapper", ["terminated", "The agent process exited before completing."])
async def test_the_first_cause_that_is_named_wins(place: Place, wrapper: str) -> None:
    stream = lines(*opening(), QUOTA, error(wrapper), *closing())
    record = await place.run(plays(place, stream, f"echo '{wrapper}' >&2; exit 1"))
    assert record.kind is FailureKind.QUOTA
    assert "exceeded your current quota" in record.message
