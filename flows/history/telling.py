"""A single run and the database: the run learns what cools down, the history learns what the run comes to.

The database is never worth a run. It is worked with in its own thread, waited for a moment at the beginning and one at
the end, and where it is away that is said once: the records know all of it, and the history catches up from them.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping, MutableMapping

from atomic.errors import AtomicError, DatabaseError
from atomic.policy import FallbackPolicy
from atomic.policy.cooldowns import cooling_until
from atomic.record import RunStore
from atomic.runner import AttemptEnded, AttemptStarted, OnEvent, RunEnded, RunEvent, RunRequest, RunStarted
from atomic.session import masker_for
from atomic.settings import Settings
from flows.cooldowns import RunCooldowns, SharedCooldowns, shared_names
from flows.database import Database
from flows.database.runs import Recorded, record_runs
from flows.history.copying import recorded

PATIENCE = 2.0  # seconds: a run takes longer, and a database that is well answers in milliseconds
_SILENT = DatabaseError("the database does not answer", hint="look at what else works with it")


class Told:
    """What a run is given: ``hear`` as its ``on_event``, ``cooldowns`` as its cooldowns. Opened before the run begins,
    closed after it has ended."""

    def __init__(self, settings: Settings, store: RunStore, request: RunRequest) -> None:
        self.trouble: AtomicError | None = None  # why the history does not have it all
        self._settings = settings
        self._store = store
        self._request = request
        self._masker = masker_for(request.agent)
        self._database: Database | None = None
        self._opening: asyncio.Future[tuple[Database, dict[str, str]]] | None = None  # it may still come
        self._missed: Callable[[], Recorded] | None = None  # what is to be written when it has
        self._shared: RunCooldowns | None = None
        self._own: dict[str, float] = {}
        self._writing: set[asyncio.Future[None]] = set()
        self._run_id: str | None = None

    async def open(self) -> None:
        """Open the database and learn what cools down, or find that it is away."""
        opening = asyncio.ensure_future(asyncio.to_thread(_open, self._settings, self._request))
        try:
            async with asyncio.timeout(PATIENCE):
                database, names = await asyncio.shield(opening)
                self._database = database
                known = SharedCooldowns(database, names)
                await known.refresh()
                self._shared = RunCooldowns(known, obeyed=_leave_one(known, self._request.policy, time.time()))
        except AtomicError as error:
            self.trouble = error
        except TimeoutError:
            if self._database is None:
                self._opening = opening  # a first run makes the database, which takes a busy machine some time
            else:
                self.trouble = _SILENT
        finally:
            if self._database is None and self._opening is None:
                opening.add_done_callback(_close_late)

    async def close(self) -> None:
        """Wait for what is being written, if it is soon."""
        if self._opening is not None:
            await self._open_late(self._opening)
        if self._database is None:
            return
        try:
            async with asyncio.timeout(PATIENCE):
                while self._writing:
                    await asyncio.wait(self._writing)
                if self._shared is not None:
                    await self._shared.written()
        except TimeoutError:
            self.trouble = self.trouble or _SILENT
        await asyncio.to_thread(self._database.close)

    async def _open_late(self, opening: asyncio.Future[tuple[Database, dict[str, str]]]) -> None:
        """Take the database that has come, or is about to, while the run was under way."""
        try:
            async with asyncio.timeout(PATIENCE):
                self._database, _ = await asyncio.shield(opening)
        except AtomicError as error:
            self.trouble = error
        except TimeoutError:
            self.trouble = _SILENT
        finally:
            if self._database is None:
                opening.add_done_callback(_close_late)
        if self._missed is not None:
            self._write(self._missed)

    @property
    def cooldowns(self) -> MutableMapping[str, float]:
        """The cooldowns that all know; those of this run alone, where the database is away."""
        return self._own if self._shared is None else self._shared

    def hear(self, event: RunEvent) -> None:
        """Write down what happened, and pass nothing on that goes wrong with it."""
        if isinstance(event, AttemptEnded) and self._shared is not None:
            self._shared.last = event.verdict
        if isinstance(event, RunStarted):
            self._run_id = event.run_id
        if isinstance(event, RunEnded):
            self._write(lambda: recorded(self._store, event.run, self._masker, event.attempts))
        elif isinstance(event, RunStarted | AttemptStarted | AttemptEnded) and self._run_id is not None:
            run_id = self._run_id
            self._write(lambda: recorded(self._store, self._store.read(run_id), self._masker))

    def _write(self, what: Callable[[], Recorded]) -> None:
        if self._database is None:
            self._missed = what
            return
        writing = asyncio.ensure_future(self._database.apart(self._put, what))
        self._writing.add(writing)
        writing.add_done_callback(self._written)

    def _put(self, database: Database, what: Callable[[], Recorded]) -> None:
        if self.trouble is None:
            record_runs(database, [what()])

    def _written(self, writing: asyncio.Future[None]) -> None:
        self._writing.discard(writing)
        error = None if writing.cancelled() else writing.exception()
        if isinstance(error, AtomicError):
            self.trouble = self.trouble or error


def _leave_one(cooldowns: Mapping[str, float], policy: FallbackPolicy, now: float) -> bool:
    """Whether the cooldowns that others found leave a model that could be tried within ``max_wait``. Where they leave
    none they are passed over: a run that tries no model at all tells nobody whether its account works again."""
    soonest = min((cooling_until(model, cooldowns) for model in policy.models), default=0.0)
    return soonest <= now + policy.max_wait


def _open(settings: Settings, request: RunRequest) -> tuple[Database, dict[str, str]]:
    names = shared_names(request.agent, request.policy.models)
    return Database.open(settings.history.url, home=settings.home, patience=PATIENCE), names


def _close_late(opening: asyncio.Future[tuple[Database, dict[str, str]]]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result()[0].close()


@contextlib.asynccontextmanager
async def telling(
    settings: Settings, store: RunStore, request: RunRequest, *, warn: Callable[[str], None]
) -> AsyncIterator[Told]:
    """The history for one run. ``warn`` is told, once and when the run is over, that the database was away."""
    told = Told(settings, store, request)
    await told.open()
    try:
        yield told
    finally:
        await told.close()
        if told.trouble is not None:
            warn(f"the history does not have this run yet, and catches up with it later: {told.trouble.message}")


def both(*heard: OnEvent | None) -> OnEvent:
    """All of them are told what happens, each whatever the others do."""

    def tell(event: RunEvent) -> None:
        with contextlib.ExitStack() as each:
            for one in heard:
                if one is not None:
                    each.callback(one, event)

    return tell
