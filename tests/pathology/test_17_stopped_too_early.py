"""Keeps away: SIGTERM right after the answer, or before the agent could end by itself, loses the last message."""

from __future__ import annotations

from atomic.failures import FailureKind
from atomic.policy import Limits
from tests.agents import Place, answer, message, opening, say


async def test_an_agent_that_still_writes_after_its_answer_is_not_cut_off(place: Place) -> None:
    late = say({"type": "session_info_changed", "name": "written late"})
    record = await place.run(answer() + "sleep 0.4\n" + late + "echo written > late\n", limits=Limits(settle=5))
    assert record.exit_code == 0
    assert record.verdict is not None
    assert record.verdict.stopped is None
    assert b"written late" in place.stream(record)
    assert (place.work / "late").exists()


async def test_the_last_message_is_kept_that_an_agent_writes_when_it_is_asked_to_end(place: Place) -> None:
    script = f"last() {{\n{say(message('at last'))}exit 143\n}}\ntrap last TERM\n"
    record = await place.run(
        say(*opening()) + script + "while :; do sleep 0.02; done\n", limits=Limits(total=0.3), grace=5.0
    )
    assert record.kind is FailureKind.TIMEOUT
    assert b"at last" in place.stream(record)
    assert record.exit_code == 143
