"""Keeps away: a prompt that begins with `-` is taken for an option, one with `@` for a file, one with `/` for a command
of the agent."""

from __future__ import annotations

import pytest

from atomic.errors import PromptError
from tests.agents import Place
from tests.pathology.stage import ask


@pytest.mark.parametrize(
    "prompt", ["-p --help", "--model other/model", "--", "-", "@/etc/passwd", "@missing", "!ls", "a/b", "\\n", "日本"]
)
async def test_a_prompt_is_what_it_is(place: Place, prompt: str) -> None:
    result = await ask(place, prompt, "scripted/echo")
    assert result.answer == prompt
    assert place.store.open(result.run_id).prompt == prompt.encode()


@pytest.mark.parametrize("prompt", ["/compact", " /quit", "\ufeff/model x"])
async def test_a_command_of_the_agent_is_refused_before_anything_starts(place: Place, prompt: str) -> None:
    with pytest.raises(PromptError, match="begins with '/'"):
        await ask(place, prompt, "scripted/echo")
    assert list(place.store.iter_runs()) == []
