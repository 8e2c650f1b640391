"""Keeps away: a line over 64 KiB, or over any fixed cap, kills the reader; a counter that is never reset kills long
runs (asyncio's `readline`, caps of 1 or 10 MiB on all that a session may print)."""

from __future__ import annotations

import pytest

from tests.agents import Place, tool_end, tool_start
from tests.pathology.stage import answered, plays


@pytest.mark.parametrize("size", [65_536, 65_537, 1 << 20, 12 << 20])
async def test_one_long_line_is_a_line(place: Place, size: int) -> None:
    record = await place.run(plays(place, answered("after it", {"type": "odd", "text": "x" * size})))
    assert record.verdict is not None
    assert (record.verdict.answer, record.verdict.noise) == ("after it", 0)


async def test_many_megabytes_in_all_are_no_reason_to_end(place: Place) -> None:
    update = {"type": "tool_execution_update", "toolCallId": "1", "partialResult": "x" * 900_000}
    stream = answered("after it", tool_start(), *[update] * 30, tool_end())
    record = await place.run(plays(place, stream))
    assert record.verdict is not None
    assert record.verdict.answer == "after it"
    assert record.stream is not None
    assert record.stream.bytes == len(stream)
