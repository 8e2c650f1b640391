"""Keeps away: a prompt whose tools have already acted is sent again from the start to the next model: the work is done
twice (two commits, two mails, two orders)."""

from __future__ import annotations

from tests.agents import Place
from tests.pathology.stage import ask


async def test_the_next_model_goes_on_with_what_was_done(place: Place) -> None:
    result = await ask(place, "append a line", "one/tool-overflow", "two/echo")
    assert [(attempt.model, attempt.carry) for attempt in result.attempts] == [
        ("one/tool-overflow", False),
        ("two/echo", True),
    ]
    assert (place.work / "worked.txt").read_text() == "worked\n"
    assert result.answer is not None
    assert "[user] append a line" in result.answer, "it has the conversation"
    assert "[toolResult]" in result.answer


async def test_without_tool_work_the_prompt_is_sent_again_as_it_was(place: Place) -> None:
    result = await ask(place, "what is asked", "one/rate-limit", "two/echo")
    assert [attempt.carry for attempt in result.attempts] == [False, False]
    assert result.answer == "what is asked"
