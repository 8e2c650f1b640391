"""Keeps away: one argument over 128 KiB fails with E2BIG, and is retried without an end."""

from __future__ import annotations

import pytest

from atomic.verdict.facts import Status
from tests.agents import Place, answer


@pytest.mark.parametrize("size", [128 * 1024, 2 * (1 << 20)])
async def test_a_prompt_of_any_size_is_no_argument(place: Place, size: int) -> None:
    record = await place.run("wc -c > counted\n" + answer(), prompt=b"-" * size)
    assert record.status is Status.ANSWERED
    assert int((place.work / "counted").read_text()) == size
