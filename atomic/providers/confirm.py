"""Whether the key of a model that failed for `auth` is really bad: asked once, over HTTP, before a credential cools."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from atomic.agent import Agent
from atomic.models import ModelRef
from atomic.providers.ask import Reach, ask_all
from atomic.providers.find import Credentials

CONFIRM_LIMIT = 3.0  # seconds: a run waits for it, and an answer only saves attempts of later runs


def key_check(agent: Agent) -> Callable[[ModelRef], Awaitable[bool]]:
    """What a run asks with (``key_is_bad`` of :func:`atomic.runner.execute`): True only where the provider itself
    refuses the key that this agent would use. Takes no longer than CONFIRM_LIMIT, and raises nothing."""

    async def key_is_bad(model: ModelRef) -> bool:
        if agent.scripted:
            return False
        credentials = await asyncio.to_thread(Credentials.of, agent)
        (answer,) = await ask_all([credentials.access(model.provider)], limit=CONFIRM_LIMIT)
        return answer.reach is Reach.KEY_REFUSED

    return key_is_bad
