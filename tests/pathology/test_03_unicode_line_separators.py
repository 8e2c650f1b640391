"""Keeps away: text-mode splitting tears records at U+2028, U+2029 and U+0085, which arrive raw inside strings."""

from __future__ import annotations

from tests.agents import Place
from tests.pathology.stage import answered, plays

ANSWER = "one\u2028two\u2029three\x85four\x0bfive\x0csix\x1cseven\u2028"


async def test_only_lf_ends_a_record(place: Place) -> None:
    record = await place.run(plays(place, answered(ANSWER)))
    assert record.verdict is not None
    assert (record.verdict.answer, record.verdict.noise) == (ANSWER, 0)
