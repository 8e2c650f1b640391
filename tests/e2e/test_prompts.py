"""Prompts of every size and beginning, as they reach the provider of a real agent."""

from __future__ import annotations

import pytest

from atomic.errors import PromptError
from tests.e2e.real import RealAgent
from tests.loopback.models import ODD_ANSWER

MEBIBYTE = 1 << 20


async def test_a_prompt_of_a_mebibyte_arrives_whole(real: RealAgent) -> None:
    prompt = "All work and no play. " * (MEBIBYTE // 22)
    result = await real.ask(prompt.strip(), "fake/count")
    assert result.answer == str(len(prompt.strip()))


@pytest.mark.parametrize("prompt", ["--help me, I am a prompt", "@nobody knows this file"], ids=["dash", "at"])
async def test_a_prompt_is_no_option_and_no_file(prompt: str, real: RealAgent) -> None:
    result = await real.ask(prompt, "fake/ok")
    assert result.answered
    assert real.requests()[0].last_text == prompt


async def test_a_slash_command_is_refused_before_anything_starts(real: RealAgent) -> None:
    with pytest.raises(PromptError):
        await real.ask("/compact everything", "fake/ok")
    assert list(real.store.iter_runs()) == []


async def test_odd_characters_arrive_both_ways(real: RealAgent) -> None:
    prompt = "naïve \u2028 日本語 😀 \x85 end"
    result = await real.ask(prompt, "fake/unicode")
    assert result.answer == ODD_ANSWER
    assert real.requests()[0].last_text == prompt
