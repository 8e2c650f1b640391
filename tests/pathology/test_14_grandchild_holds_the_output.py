"""Keeps away: a grandchild in another process group keeps the output open, and "end of file" never comes."""

from __future__ import annotations

import pytest

from atomic.session import run_attempt
from atomic.verdict.facts import Status
from tests.agents import Place, answer, left_of
from tests.pathology.stage import number


@pytest.mark.parametrize("how", ["", "setsid ", "env -i "])
async def test_a_grandchild_that_holds_the_output_open_does_not_hold_the_session(place: Place, how: str) -> None:
    spec = place.spec(f"{how}sleep 1000 &\necho $! > tool\n" + answer("it ended all the same"))
    record = await run_attempt(spec)
    assert record.verdict is not None
    assert record.verdict.answer == "it ended all the same"
    assert record.exit_code == 0
    assert left_of(spec, await number(place.work / "tool")) == []


async def test_what_a_grandchild_writes_late_does_not_spoil_the_answer(place: Place) -> None:
    script = "(trap '' TERM HUP; while :; do echo late; done) &\n" + answer()
    record = await place.run(script)
    assert record.status is Status.ANSWERED
    assert record.stream is not None
    assert record.stream.bytes == len(place.stream(record))
