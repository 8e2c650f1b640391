"""Cooldowns that all runs share through the database: a batch reads them once a second, a single run when it begins;
each writes what it finds at once."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping

from atomic.agent import Agent
from atomic.failures import FailureKind
from atomic.models import ModelRef
from atomic.policy import credential_key
from atomic.providers import Access, Credentials
from atomic.verdict.facts import Verdict
from flows.database import Cooldown, Database
from flows.database import cooldowns as table

UNASKED = 1.0  # seconds for which a model is put off while its provider is being asked
_FINGERPRINT = 12  # characters: no two keys of one provider meet in them by chance


def fingerprint(access: Access) -> str:
    """What tells a provider's credential from another person's, and says nothing of it."""
    told = "\n".join(f"{name}: {value}" for name, value in sorted(access.headers.items())) or access.source
    return hashlib.sha256(f"{access.provider}\n{told}".encode()).hexdigest()[:_FINGERPRINT]


def shared_names(agent: Agent, models: Iterable[ModelRef]) -> dict[str, str]:
    """By the keys of the models' credentials, the keys that everybody knows them by: one person's bad key does not stop
    another's. Reads the agent's folder."""
    providers = {model.provider: credential_key(model) for model in models}
    if agent.scripted:
        return {key: key for key in providers.values()}
    credentials = Credentials.of(agent)
    return {key: f"{key}/{fingerprint(credentials.access(name))}" for name, key in providers.items()}


class SharedCooldowns(Mapping[str, float]):
    """Until when models and credentials cool down (keys of :mod:`atomic.policy.cooldowns`), by what this process and
    the others have found. What the database does not take is still known here."""

    def __init__(
        self,
        database: Database,
        names: Mapping[str, str],
        *,
        asks_first: Collection[str] = (),
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        """``names`` as :func:`shared_names` gives them. A cooldown of a key in ``asks_first`` is not over before
        ``asked`` has been called for it."""
        self._asks_first = frozenset(asks_first)
        self._unasked: set[str] = set()
        self._database = database
        self._names = dict(names)
        self._own = {shared: own for own, shared in names.items()}
        self._on_change = on_change
        self._known: dict[str, Cooldown] = {}
        self._writing: set[asyncio.Future[None]] = set()

    def __getitem__(self, key: str) -> float:
        until = self._known[key].until
        return max(until, time.time() + UNASKED) if key in self._unasked else until

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def unasked(self, now: float) -> list[str]:
        """The keys whose time is over and that wait for ``asked``."""
        return [key for key in self._unasked if self._known[key].until <= now]

    def asked(self, keys: Iterable[str], now: float) -> None:
        """Those of these cooldowns whose time is over are over."""
        self._unasked.difference_update(key for key in keys if self._known[key].until <= now)
        self._on_change()

    def kind(self, key: str) -> FailureKind | None:
        """What the cooldown is for."""
        found = self._known.get(key)
        return None if found is None else found.kind

    def put(self, key: str, until: float, kind: FailureKind | None, reason: str) -> None:
        """Note a cooldown, here and for all; the later of two ends counts."""
        if not self._note(key, Cooldown(key, until, kind, reason)):
            return
        told = Cooldown(self._names.get(key, key), until, kind, reason)
        writing = asyncio.ensure_future(self._database.apart(table.put, [told]))
        self._writing.add(writing)
        writing.add_done_callback(self._written)
        self._on_change()

    async def refresh(self) -> None:
        """Learn what others have found. Raises DatabaseError."""
        changed = False
        for one in await self._database.apart(table.current):
            key = self._own.get(one.key, one.key)
            changed |= self._note(key, one)
        if changed:
            self._on_change()

    def _note(self, key: str, found: Cooldown) -> bool:
        """Know a cooldown by this key. False where a longer one is known."""
        known = self._known.get(key)
        if known is not None and found.until <= known.until:
            return False
        self._known[key] = found
        if key in self._asks_first:
            self._unasked.add(key)
        return True

    async def written(self) -> None:
        """Wait for what is being written."""
        while self._writing:
            await asyncio.wait(self._writing)

    def _written(self, writing: asyncio.Future[None]) -> None:
        self._writing.discard(writing)
        if not writing.cancelled():
            writing.exception()  # a database that is away: whoever reads next says so


class RunCooldowns(MutableMapping[str, float]):
    """The shared cooldowns as one run sees and adds to them; ``last`` is the verdict that it adds for.

    Where ``obeyed`` is false it sees its own alone: what others found is passed over.
    """

    def __init__(self, shared: SharedCooldowns, *, obeyed: bool = True) -> None:
        self.last: Verdict | None = None
        self._shared = shared
        self._own: dict[str, float] = {}
        self._seen: Mapping[str, float] = shared if obeyed else self._own

    def __getitem__(self, key: str) -> float:
        return self._seen[key]

    def __setitem__(self, key: str, until: float) -> None:
        last = self.last
        self._own[key] = until
        self._shared.put(key, until, last.kind if last else None, last.message if last else "")

    async def written(self) -> None:
        """Wait for what is being written."""
        await self._shared.written()

    def __delitem__(self, key: str) -> None:
        raise TypeError("a cooldown ends by itself")

    def __iter__(self) -> Iterator[str]:
        return iter(self._seen)

    def __len__(self) -> int:
        return len(self._seen)
