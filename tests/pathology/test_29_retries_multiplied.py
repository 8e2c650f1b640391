"""Keeps away: the agent retries and whoever runs it retries too: N×M calls that nobody asked for, and nobody sees."""

from __future__ import annotations

import json

from atomic.agent import Agent
from tests.agents import Place, answer
from tests.pathology.stage import ask


async def test_the_agents_own_retries_are_counted_and_shown(place: Place) -> None:
    result = await ask(place, "x", "one/rate-limit", "two/ok")
    assert result.inner_retries == 2
    assert "attempt 1: the agent itself tried again 2 times" in result.warnings


async def test_they_can_be_switched_off_without_touching_the_users_settings(place: Place) -> None:
    own = place.folder / "agent folder"
    own.mkdir()
    settings = own / "settings.json"
    settings.write_text('{"retry": {"enabled": true, "maxRetries": 3}, "theme": "dark"}')
    script = 'cp "$PI_CODING_AGENT_DIR/settings.json" seen.json\n' + answer()
    agent = place.agent(script, env={"PI_CODING_AGENT_DIR": str(own)}, settings={"retry": {"enabled": False}})
    assert isinstance(agent, Agent)
    assert (await ask(place, "x", "a/b", agent=agent)).answered
    seen = json.loads((place.work / "seen.json").read_text())
    assert seen == {"retry": {"enabled": False, "maxRetries": 3}, "theme": "dark"}
    assert json.loads(settings.read_text())["retry"]["enabled"] is True
