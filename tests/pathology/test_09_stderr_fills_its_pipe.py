"""Keeps away: stderr fills its pipe, and the agent stands still."""

from __future__ import annotations

from tests.agents import Place, answer


async def test_a_flood_on_stderr_does_not_block_the_agent(place: Place) -> None:
    record = await place.run("head -c 3000000 /dev/zero | tr '\\0' 'e' >&2\n" + answer("after the flood"))
    assert record.verdict is not None
    assert record.verdict.answer == "after the flood"
    assert (place.path(record) / "stderr.txt").stat().st_size == 3_000_000
