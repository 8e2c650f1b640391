"""After a cooldown the provider is asked over HTTP before a session is: a request costs nothing, a session that fails
costs an attempt. What still turns us away cools down for longer, twice as long each time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping

from atomic.agent import Agent
from atomic.models import ModelRef
from atomic.policy import credential_key, model_key
from atomic.providers import Access, Answer, Credentials, ask_all
from flows.cooldowns import SharedCooldowns

PROBE_LIMIT = 3.0  # seconds for an answer: meanwhile nothing begins with that provider
FIRST_PAUSE = 15.0  # seconds that a cooldown is made longer by at first; providers' own windows are a minute
LONGEST_PAUSE = 600.0  # seconds between two probes: an outage that ends is noticed within ten minutes

Ask = Callable[[Access], Awaitable[Answer]]


async def ask_one(access: Access) -> Answer:
    """Ask one provider. Raises nothing."""
    (answer,) = await ask_all([access], limit=PROBE_LIMIT)
    return answer


def askable(agent: Agent, models: Iterable[ModelRef]) -> dict[str, Access]:
    """How the providers of these models are asked, by the keys of the models' cooldowns; those that cannot be are left
    out. Reads the agent's folder."""
    if agent.scripted:
        return {}
    credentials = Credentials.of(agent)
    accesses = {model: credentials.access(model.provider) for model in models}
    return {
        key: access
        for model, access in accesses.items()
        if access.state in ("key", "open") and access.url is not None
        for key in (model_key(model), credential_key(model))
    }


class Probes:
    """Asks for a batch. ``look`` is called about once a second; one request at a time goes to each provider."""

    def __init__(
        self,
        accesses: Mapping[str, Access],
        cooldowns: SharedCooldowns,
        say: Callable[[str], None],
        *,
        ask: Ask = ask_one,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``accesses`` as :func:`askable` gives them; ``say`` is told what a person should know."""
        self._accesses = accesses
        self._cooldowns = cooldowns
        self._say = say
        self._ask = ask
        self._clock = clock
        self._pauses: dict[str, float] = {}  # by provider: the last one
        self._asking: dict[str, asyncio.Task[None]] = {}

    def look(self) -> None:
        """Ask the providers whose cooldowns are over and that have not been asked since."""
        due: dict[str, list[str]] = {}
        for key in self._cooldowns.unasked(self._clock()):
            due.setdefault(self._accesses[key].provider, []).append(key)
        for provider, keys in due.items():
            if provider not in self._asking:
                task = asyncio.get_running_loop().create_task(self._probe(provider, keys))
                self._asking[provider] = task

    async def close(self) -> None:
        """Ask no more."""
        tasks = list(self._asking.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _probe(self, provider: str, keys: list[str]) -> None:
        try:
            answer = await self._ask(self._accesses[keys[0]])
        finally:
            del self._asking[provider]
        if not answer.turns_away:
            self._pauses.pop(provider, None)
            self._cooldowns.asked(keys, self._clock())
            return
        pause = min(LONGEST_PAUSE, 2 * self._pauses.get(provider, FIRST_PAUSE / 2))
        self._pauses[provider] = pause
        until = self._clock() + pause
        for key in keys:
            self._cooldowns.put(key, until, self._cooldowns.kind(key), answer.said)
        self._say(f"{provider} does not take sessions again yet ({answer.said}): it is asked again in {pause:.0f} s")
