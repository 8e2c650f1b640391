"""Keeps away: a character that is split over two reads becomes U+FFFD, because chunks are decoded."""

from __future__ import annotations

import pytest

from tests.agents import Place
from tests.pathology.stage import answered, plays

TEXT = "Ω日😀"


@pytest.mark.parametrize("cut", range(1, len(TEXT.encode())))
async def test_a_read_may_end_inside_a_character(place: Place, cut: int) -> None:
    stream = answered(TEXT)
    at = stream.index(TEXT.encode()) + cut
    rest = place.folder / "rest"
    rest.write_bytes(stream[at:])
    # The pause is longer than the time between two reads.
    record = await place.run(plays(place, stream[:at], f"sleep 0.15\ncat '{rest}'"))
    assert record.verdict is not None
    assert record.verdict.answer == TEXT
