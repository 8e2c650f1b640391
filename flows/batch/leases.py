"""The slots that a batch's sessions hold of a global concurrency limit of Prefect's, by leases that are renewed.

Prefect's own context manager takes a thread for each slot, gives a lease up for good once the server was away for some
seconds, and raises then, in the middle of a session that costs money. Here a session goes on, whatever becomes of its
lease: where the server has forgotten it, another is asked for.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from uuid import UUID

import httpx
from prefect.client.orchestration import PrefectClient, SyncPrefectClient, get_client
from prefect.client.schemas.actions import GlobalConcurrencyLimitCreate, GlobalConcurrencyLimitUpdate
from prefect.client.schemas.objects import ConcurrencyLeaseHolder
from prefect.client.schemas.responses import ConcurrencyLimitWithLeaseResponse
from prefect.exceptions import ObjectAlreadyExists, ObjectNotFound, PrefectHTTPStatusError

from atomic.errors import ServerError, UsageError
from atomic.settings.problems import nearest
from atomic.text import one_line
from flows.batch.across import SharedLimit

LEASE = 60.0  # seconds after which a killed holder's slot is free again: the least that Prefect takes
RENEW_EVERY = 15.0  # seconds: three renewals may fail before a lease ends
ASK_EVERY = 1.0  # seconds between two questions of a process, about; a refusal costs the server some 20 ms
ASK_LIMIT = 15.0  # seconds for one question
BYE_LIMIT = 10.0  # seconds for giving back what is held in the end; what is not given back is free after LEASE
_FULL, _ZERO, _GONE = 423, 422, 410  # the limit is reached; it is set to less than one; the lease is not known
_AWAY = (httpx.HTTPError, PrefectHTTPStatusError, TimeoutError, OSError, RuntimeError, ValueError)


@dataclass(slots=True, eq=False)
class _Slot:
    """A session's slot. ``lease`` is None while the server has forgotten it."""

    lease: UUID | None


class Leases:
    """The slots of one process, from a limit that it has found or made. One thread renews them, so that an event loop
    that stands still loses none; one task asks for new ones, so that who has waited longest comes first."""

    def __init__(
        self, client: PrefectClient, limit: SharedLimit, most: int, flow_run_id: UUID, tell: Callable[[str], None]
    ) -> None:
        self.may_ask: Callable[[], bool] = lambda: True
        self._client = client
        self._limit = limit
        self._most = most
        self._holder = ConcurrencyLeaseHolder(type="flow_run", id=flow_run_id)
        self._tell = tell
        self._waiting: list[asyncio.Future[_Slot]] = []
        self._wanted = asyncio.Event()
        self._closed = False
        self._over = threading.Event()
        self._lock = threading.Lock()  # of `_held` and what is in it: the thread looks at it, too
        self._held: list[_Slot] = []
        self._giving_back: set[asyncio.Task[None]] = set()
        self._not_before = 0.0
        self._away = False

    @property
    def waiting(self) -> int:
        """How many sessions wait for a slot."""
        return len(self._waiting)

    def close(self) -> None:
        """Give no slot any more: whoever waits for one is refused."""
        self._closed = True
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            turn.cancel()
        self._wanted.set()

    @contextlib.asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """A slot, waited for. Raises CancelledError where none is given any more."""
        slot = await self._acquire()
        try:
            yield
        finally:
            self._give_back(slot)

    @contextlib.asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Within this, slots are given and renewed; at its end all are given back."""
        thread = threading.Thread(target=self._renew_all, name="leases", daemon=True)
        thread.start()
        asking = asyncio.get_running_loop().create_task(self._hand_out())
        try:
            yield
        finally:
            self.close()
            self._over.set()
            await asking
            for slot in list(self._held):
                self._give_back(slot)
            if self._giving_back:
                await asyncio.wait(self._giving_back, timeout=BYE_LIMIT)

    async def _acquire(self) -> _Slot:
        if self._closed:
            raise asyncio.CancelledError
        turn: asyncio.Future[_Slot] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._wanted.set()
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._give_back(turn.result())
            elif turn in self._waiting:
                self._waiting.remove(turn)
            raise

    def _give_back(self, slot: _Slot) -> None:
        with self._lock:
            self._held.remove(slot)
            lease, slot.lease = slot.lease, None
        # The others get their chance: who has just had a slot would else always be the first to ask.
        self._not_before = time.monotonic() + random.uniform(0, ASK_EVERY)  # noqa: S311 - no secret
        if lease is not None:
            task = asyncio.get_running_loop().create_task(self._release(lease))
            self._giving_back.add(task)
            task.add_done_callback(self._giving_back.discard)

    async def _release(self, lease: UUID) -> None:
        with contextlib.suppress(*_AWAY):  # what is not given back ends by itself
            async with asyncio.timeout(ASK_LIMIT):
                await self._client.release_concurrency_slots_with_lease(lease)

    async def _hand_out(self) -> None:
        """Ask for slots while somebody waits for one."""
        while not self._closed:
            if not self._waiting:
                self._wanted.clear()
                await self._wanted.wait()
                continue
            wait = self._not_before - time.monotonic()
            if wait > 0 or not self.may_ask():
                await asyncio.sleep(max(wait, 0.05))
                continue
            lease = await self._ask()
            if lease is None:
                self._not_before = time.monotonic() + random.uniform(0.5, 1.5) * ASK_EVERY  # noqa: S311
                continue
            slot = _Slot(lease)
            with self._lock:
                self._held.append(slot)
            if self._waiting:
                self._waiting.pop(0).set_result(slot)
            else:
                self._give_back(slot)

    async def _ask(self) -> UUID | None:
        """A lease of a slot; None where there is none to be had now."""
        try:
            async with asyncio.timeout(ASK_LIMIT):
                reply = await self._client.increment_concurrency_slots_with_lease(
                    [self._limit.name], 1, "concurrency", LEASE, self._holder
                )
                found = ConcurrencyLimitWithLeaseResponse.model_validate(reply.json())
                if not found.limits:  # somebody has deleted it
                    await self._client.upsert_global_concurrency_limit_by_name(self._limit.name, self._most)
        except _AWAY as error:
            full = isinstance(error, PrefectHTTPStatusError) and error.response.status_code in (_FULL, _ZERO)
            if not full and not self._away:
                self._tell(f"no session begins: Prefect gives no slot of the limit {self._limit.name} ({_said(error)})")
            self._away = not full
            return None
        self._away = False
        return found.lease_id if found.limits else None

    def _renew_all(self) -> None:
        """The thread's work."""
        while not self._over.wait(RENEW_EVERY):
            with self._lock:
                held = list(self._held)
            if not held:
                continue
            # The server may be away: the next look comes before the leases end.
            with contextlib.suppress(*_AWAY), get_client(sync_client=True) as client:
                for slot in held:
                    self._renew(client, slot)

    def _renew(self, client: SyncPrefectClient, slot: _Slot) -> None:
        """Renew a slot's lease; where the server has forgotten it, ask for another. The session goes on meanwhile.
        Raises what the client raises."""
        with self._lock:
            lease = slot.lease
        try:
            if lease is not None:
                client.renew_concurrency_lease(lease, LEASE)
                return
            reply = client.increment_concurrency_slots_with_lease(
                [self._limit.name], 1, "concurrency", LEASE, self._holder
            )
        except PrefectHTTPStatusError as error:
            if error.response.status_code not in (_GONE, _FULL, _ZERO):
                raise
            with self._lock:
                slot.lease = None
            return
        lease = ConcurrencyLimitWithLeaseResponse.model_validate(reply.json()).lease_id
        with self._lock:
            if slot in self._held:
                slot.lease = lease
                return
        client.release_concurrency_slots_with_lease(lease)  # its session has ended meanwhile


@contextlib.asynccontextmanager
async def sharing(
    limit: SharedLimit | None, flow_run_id: UUID, tell: Callable[[str], None]
) -> AsyncIterator[Leases | None]:
    """Within this, what gives a batch's sessions their places among those of all machines; None where there is no
    limit. One that Prefect does not know is made, one that is set otherwise is changed. Raises UsageError, ServerError.
    """
    if limit is None:
        yield None
        return
    async with get_client() as client:
        try:
            most = await _found_or_made(client, limit, tell)
        except _AWAY as error:
            raise ServerError(
                f"Prefect's server does not take the limit {limit}: {_said(error)}",
                hint="a global concurrency limit needs a self-hosted server, or a workspace whose plan has them",
            ) from error
        leases = Leases(client, limit, most, flow_run_id, tell)
        async with leases.at_work():
            yield leases


async def _found_or_made(client: PrefectClient, limit: SharedLimit, tell: Callable[[str], None]) -> int:
    """How many the limit lets through. Raises UsageError, and what the client raises."""
    try:
        there = await client.read_global_concurrency_limit_by_name(limit.name)
    except ObjectNotFound:
        if limit.most is None:
            known = [one.name for one in await client.read_global_concurrency_limits(limit=200)]
            near = nearest(limit.name, known)
            raise UsageError(
                f"Prefect knows no global concurrency limit {limit.name!r}",
                hint=f"did you mean {near}?" if near else f"--limit-across {limit.name}=N makes it",
                key="limit_across",
                nearest=near,
            ) from None
        with contextlib.suppress(ObjectAlreadyExists):  # another machine was quicker
            await client.create_global_concurrency_limit(
                GlobalConcurrencyLimitCreate(name=limit.name, limit=limit.most)
            )
        return limit.most
    if there.slot_decay_per_second:
        raise UsageError(
            f"{limit.name} is a rate limit: its slots are free again while sessions still run",
            hint="name another, or set its slot decay to 0 in Prefect",
            key="limit_across",
        )
    if limit.most is not None and limit.most != there.limit:
        changed = GlobalConcurrencyLimitUpdate(limit=limit.most)
        await client.update_global_concurrency_limit(limit.name, changed)
        tell(f"the limit {limit.name} was {there.limit}, and is {limit.most} now, for all who share it")
    return limit.most or there.limit


def _said(error: Exception) -> str:
    return one_line(str(error) or type(error).__name__, 300)
