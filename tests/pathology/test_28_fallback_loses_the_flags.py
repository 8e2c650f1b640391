"""Keeps away: the fallback model works without the tools, the system prompt or the permissions of the first."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from atomic.agent import Agent
from tests.agents import Place
from tests.pathology.stage import ask

FLAGS = ("--tools", "read,grep", "--append-system-prompt", "Be brief; don't guess.", "--no-extensions")


async def test_every_model_is_called_with_the_same_flags(place: Place) -> None:
    agent = Agent(
        command=(sys.executable, "-m", "atomic.scripted"), args=FLAGS, env={"MY_OWN_VARIABLE": "1"}, approve=False
    )
    result = await ask(
        place, "x", "one/rate-limit", "two/crashed", "three/inspect", agent=agent, on={"crashed": "next"}
    )
    folder = place.store.open(result.run_id)
    commands = [folder.attempt(attempt.n).read().command for attempt in result.attempts]
    assert len({_same_for_all(command) for command in commands}) == 1
    assert result.answer is not None
    seen = json.loads(result.answer)
    assert tuple(seen["argv"][-len(FLAGS) :]) == FLAGS
    assert "--no-approve" in seen["argv"]
    assert "MY_OWN_VARIABLE" in seen["environment"]
    assert Path(seen["cwd"]) == place.work.resolve()


def _same_for_all(command: tuple[str, ...]) -> tuple[str, ...]:
    """The command without what names the attempt."""
    own = {command.index(flag) + 1 for flag in ("--model", "--session")}
    return tuple(part for n, part in enumerate(command) if n not in own)
