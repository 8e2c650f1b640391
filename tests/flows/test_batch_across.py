"""A limit of sessions on all machines: two processes that share a Prefect server, and a server of the tests' own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shlex
import sys
import time
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from prefect.client.orchestration import get_client
from prefect.exceptions import PrefectHTTPStatusError

from atomic.errors import UsageError
from flows.batch import leases
from flows.batch.across import SharedLimit
from flows.batch.leases import Leases, sharing
from tests.flows.batches import Batch, batch  # noqa: F401 - a fixture
from tests.flows.batches import until as eventually
from tests.flows.prefect_server import Place

MANY = 5


@pytest.mark.parametrize(
    ("text", "limit"),
    [("team=20", SharedLimit("team", 20)), (" our team = 3", None), ("our team=3", SharedLimit("our team", 3))]
    + [("team", SharedLimit("team"))]
    + [(text, None) for text in ("", "=3", "team=", "team=0", "team=-1", "team=x", "a/b=2", "a=2=3", "a\nb=2")],
)
def test_what_is_asked_for_is_a_name_and_a_number(text: str, limit: SharedLimit | None) -> None:
    if limit is not None:
        assert SharedLimit.parse(text) == limit
        return
    with pytest.raises(UsageError) as caught:
        SharedLimit.parse(text)
    assert caught.value.fields["key"] == "limit_across"


async def test_without_prefect_there_is_none(batch: Batch) -> None:  # noqa: F811
    batch.write([("one", "x/ok")])
    with pytest.raises(UsageError, match="this batch goes without"):
        await batch.run(limit_across="team=2")
    assert not batch.runs()


class Server:
    """What a Prefect server says of a limit, as its client tells it, in this process and its threads."""

    def __init__(self, most: int = 1) -> None:
        self.most = most
        self.leases: set[UUID] = set()
        self.renewed: list[UUID] = []
        self.there = self.up = True

    @contextlib.contextmanager
    def client(self, **_: Any) -> Iterator[SimpleNamespace]:
        """The synchronous client."""
        yield SimpleNamespace(
            renew_concurrency_lease=self.renew,
            increment_concurrency_slots_with_lease=self.take,
            release_concurrency_slots_with_lease=self.leases.discard,
        )

    async def increment_concurrency_slots_with_lease(self, *given: Any) -> httpx.Response:
        await asyncio.sleep(0)
        return self.take(*given)

    async def release_concurrency_slots_with_lease(self, lease: UUID) -> None:
        self._answer(200)
        self.leases.discard(lease)

    async def upsert_global_concurrency_limit_by_name(self, name: str, most: int) -> None:
        self.there, self.most = True, most

    def take(self, *_: Any) -> httpx.Response:
        lease = str(uuid4())
        if not self.there:
            return httpx.Response(200, json={"lease_id": lease, "limits": []})
        self._answer(423 if len(self.leases) >= self.most else 200)
        self.leases.add(UUID(lease))
        return httpx.Response(
            200, json={"lease_id": lease, "limits": [{"id": lease, "name": "team", "limit": self.most}]}
        )

    def renew(self, lease: UUID, _: float) -> None:
        self._answer(200 if lease in self.leases else 410)
        self.renewed.append(lease)

    def _answer(self, code: int) -> None:
        if not self.up:
            raise httpx.ConnectError("nobody is there")
        reply = httpx.Response(code, request=httpx.Request("POST", "http://x"))
        if reply.is_error:
            raise PrefectHTTPStatusError(str(code), request=reply.request, response=reply)


@pytest.fixture
def server_of_ours(monkeypatch: pytest.MonkeyPatch) -> Server:
    server = Server()
    monkeypatch.setattr(leases, "get_client", server.client)
    monkeypatch.setattr(leases, "RENEW_EVERY", 0.02)
    monkeypatch.setattr(leases, "ASK_EVERY", 0.01)
    return server


@contextlib.asynccontextmanager
async def at_work(server: Any, said: list[str] | None = None) -> Any:
    slots = Leases(server, SharedLimit("team", 1), 1, uuid4(), (said if said is not None else []).append)
    async with slots.at_work():
        yield slots
    assert not server.leases or not server.up, "all is given back"


async def test_an_event_loop_that_stands_still_loses_no_slot(server_of_ours: Server) -> None:
    async with at_work(server_of_ours) as slots, slots.place():
        (lease,) = server_of_ours.leases
        before = len(server_of_ours.renewed)
        deadline = time.monotonic() + 60
        while len(server_of_ours.renewed) < before + 3:  # nothing else runs in this loop meanwhile
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert set(server_of_ours.renewed) == {lease}


async def test_what_the_server_forgot_is_asked_for_again_while_the_session_goes_on(server_of_ours: Server) -> None:
    async with at_work(server_of_ours) as slots, slots.place():
        server_of_ours.leases.clear()
        other = uuid4()
        server_of_ours.leases.add(other)  # somebody was quicker
        await asyncio.sleep(0.1)
        assert server_of_ours.leases == {other}
        server_of_ours.leases.clear()
        await eventually(lambda: server_of_ours.leases)


async def test_a_server_that_is_away_ends_no_session_and_begins_none(server_of_ours: Server) -> None:
    said: list[str] = []
    async with at_work(server_of_ours, said) as slots:
        async with slots.place():
            server_of_ours.up = False
            await asyncio.sleep(0.1)
        server_of_ours.leases.clear()  # by itself, after a minute
        waiting = asyncio.ensure_future(slots.place().__aenter__())
        await eventually(lambda: said)
        assert slots.waiting == 1
        server_of_ours.up = True
        await waiting
    assert len(said) == 1
    assert "team" in said[0]


async def test_a_limit_that_somebody_deletes_is_made_again(server_of_ours: Server) -> None:
    server_of_ours.there = False
    async with at_work(server_of_ours) as slots, slots.place():
        assert server_of_ours.there


async def test_who_has_waited_longest_comes_first_and_who_gives_up_takes_none(server_of_ours: Server) -> None:
    order: list[int] = []

    async def session(slots: Leases, n: int) -> None:
        async with slots.place():
            order.append(n)
            await asyncio.sleep(0.01)

    async with at_work(server_of_ours) as slots:
        sessions = [asyncio.ensure_future(session(slots, n)) for n in range(5)]
        await asyncio.sleep(0)
        sessions[1].cancel()
        await asyncio.gather(*sessions, return_exceptions=True)
        assert order == [0, 2, 3, 4]
        async with slots.place():
            refused = asyncio.ensure_future(session(slots, 9))
            await asyncio.sleep(0.02)
            slots.close()
            with pytest.raises(asyncio.CancelledError):
                await refused
    assert 9 not in order


async def test_nothing_begins_while_it_is_paused(server_of_ours: Server) -> None:
    async with at_work(server_of_ours) as slots:
        slots.may_ask = lambda: False
        waiting = asyncio.ensure_future(slots.place().__aenter__())
        await asyncio.sleep(0.2)
        assert not server_of_ours.leases
        slots.may_ask = lambda: True
        await waiting


PROGRAM = """
import asyncio, sys
from flows.batch import run_batch
given = dict(zip(("input", "agent", "limit_across"), sys.argv[1:]))
result = asyncio.run(run_batch(**given, concurrency=4, shared=True))
print(result.answered, flush=True)
"""


def _agent(folder: Path, then: str) -> tuple[str, Path]:
    """An agent that notes when it begins and ends, in the order of events."""
    ledger = folder / "ledger"
    program = folder / "agent.sh"
    noted = f">> {shlex.quote(str(ledger))}"
    program.write_text(f"#!/bin/sh\necho + {noted}\n{then}\necho - {noted}\n")
    program.chmod(0o755)
    return shlex.quote(str(program)), ledger


async def _slots(name: str) -> int:
    async with get_client() as client:
        return (await client.read_global_concurrency_limit_by_name(name)).active_slots


async def test_two_processes_together_never_have_more_sessions_than_the_limit(place: Place) -> None:
    name = place.home.parent.name
    agent, ledger = _agent(place.project, f'{shlex.quote(sys.executable)} -m atomic.scripted "$@"; sleep 0.2')
    processes = []
    for which in ("a", "b"):
        items = [json.dumps({"custom_id": str(n), "prompt": which, "models": ["x/ok"]}) for n in range(MANY)]
        (place.project / f"{which}.jsonl").write_text("\n".join(items))
        home = place.home.with_name(f"home-{which}")  # another machine
        given = (f"{which}.jsonl", agent, f"{name}=2")
        processes.append(place.start(PROGRAM, *given, ATOMIC_FLOWS_HOME=str(home)))
    for process in processes:
        out, err = await asyncio.to_thread(process.communicate)
        assert out.decode().strip() == str(MANY), err.decode()
    steps = [1 if line == "+" else -1 for line in ledger.read_text().split()]
    assert len(steps) == 2 * 2 * MANY
    assert max(accumulate(steps)) == 2
    assert await _slots(name) == 0


async def test_a_limit_is_made_changed_and_found_again_and_a_wrong_name_is_told(place: Place) -> None:
    name = f"team {place.home.parent.name}"
    said: list[str] = []
    async with sharing(SharedLimit(name, 3), uuid4(), said.append) as slots:
        assert slots is not None
    async with sharing(SharedLimit(name, 4), uuid4(), said.append), sharing(SharedLimit(name), uuid4(), said.append):
        pass
    assert [one for one in said if "was 3, and is 4 now" in one] == said
    with pytest.raises(UsageError, match="knows no global concurrency limit") as caught:
        async with sharing(SharedLimit(f"taem {place.home.parent.name}"), uuid4(), said.append):
            pass
    assert caught.value.fields["nearest"] == name
