"""The provider's server, in a thread of its own, or as a program: `python -m tests.loopback.provider [PORT]`.

POST <url>/<scope>/v1/chat/completions with `"stream": true`, GET <url>/<scope>/v1/models. A scope is any path: counters
and keys are kept for each, so that "fails twice, then answers" starts anew for each test.
"""

from __future__ import annotations

import asyncio
import json
import math
import sys
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Self

from tests.loopback.http import ProviderError, Reply, Request, read_request
from tests.loopback.models import NAMES, RATE_LIMIT, WRONG_KEY, Turn, answer

LARGEST_HEAD = 1 << 16
TOO_MANY = ProviderError(HTTPStatus.TOO_MANY_REQUESTS, "too many requests", "rate_limit_error")
NO_SUCH_PATH = ProviderError(HTTPStatus.NOT_FOUND, "no such path", "invalid_request_error")


@dataclass(frozen=True, slots=True)
class Seen:
    """A request for a completion, as the log keeps it."""

    scope: str
    model: str
    nth: int  # of this model's in this scope, from 1
    key: str | None
    messages: tuple[dict[str, Any], ...] = field(repr=False)
    refused: bool = False  # there were more at a time than the scope allows

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles of the conversation's messages, in order."""
        return tuple(message["role"] for message in self.messages)

    @property
    def last_text(self) -> str:
        """The text of the last message."""
        return _text(self.messages[-1]) if self.messages else ""


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


class Provider:
    """A provider that listens while the `with` block lasts."""

    def __init__(self, port: int = 0) -> None:
        self.port = port  # the real one once it listens
        self._counts: Counter[tuple[str, str]] = Counter()
        self._first: dict[tuple[str, str], float] = {}
        self._keys: dict[str, str] = {}
        self._refusals: Counter[str] = Counter()
        self._most: dict[str, int] = {}  # answers at a time, by scope
        self._answering: Counter[str] = Counter()
        self.listed: Counter[str] = Counter()  # requests for the list of models, by scope
        self._log: list[Seen] = []
        self._listening = threading.Event()
        self._closing: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._serve_in_thread, name="loopback-provider", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._listening.wait()
        return self

    def __exit__(self, *_: object) -> None:
        if self._loop is not None and self._closing is not None:
            self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join()

    def base_url(self, scope: str) -> str:
        """What a client's configuration calls the base URL."""
        return f"http://127.0.0.1:{self.port}/{scope}/v1"

    def require_key(self, scope: str, key: str) -> None:
        """From now on answer 401 in this scope unless the client sends this key."""
        self._keys[scope] = key

    def refuse_lists(self, scope: str, times: int) -> None:
        """Answer the next so many requests for this scope's list of models with 429."""
        self._refusals[scope] = times

    def allow(self, scope: str, at_once: int | None) -> None:
        """From now on answer so many requests for a completion at a time in this scope, and others with 429; with 0
        its list of models as well. None: no limit."""
        if at_once is None:
            self._most.pop(scope, None)
        else:
            self._most[scope] = at_once

    def requests(self, scope: str = "") -> list[Seen]:
        """The requests of all scopes that begin so, in order."""
        return [seen for seen in self._log if seen.scope.startswith(scope)]

    async def serve(self) -> None:
        """Serve until closed."""
        async with self._server():
            assert self._closing is not None
            await self._closing.wait()

    @asynccontextmanager
    async def _server(self) -> AsyncIterator[None]:
        self._loop, self._closing = asyncio.get_running_loop(), asyncio.Event()
        connections: set[asyncio.Task[None]] = set()

        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            connections.add(task)
            try:
                await self._handle(await read_request(reader), writer)
            except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                pass  # the client went away, or the provider closes
            finally:
                connections.discard(task)
                writer.close()

        server = await asyncio.start_server(handle, "127.0.0.1", self.port, limit=LARGEST_HEAD)
        self.port = server.sockets[0].getsockname()[1]
        self._listening.set()
        try:
            yield
        finally:
            server.close()
            hanging = list(connections)
            for task in hanging:
                task.cancel()
            await asyncio.gather(*hanging)

    async def _handle(self, request: Request, writer: asyncio.StreamWriter) -> None:
        scope, _, call = request.path.strip("/").rpartition("/v1/")
        required = self._keys.get(scope)
        if required is not None and request.key != required:
            await Reply(writer).error(WRONG_KEY)
        elif (request.method, call) == ("GET", "models"):
            self.listed[scope] += 1
            if self._refusals[scope] > 0 or self._most.get(scope) == 0:
                self._refusals[scope] = max(0, self._refusals[scope] - 1)
                await Reply(writer).error(TOO_MANY)
                return
            data = [{"id": name, "object": "model"} for name in NAMES]
            await Reply(writer).json(HTTPStatus.OK, {"object": "list", "data": data})
        elif (request.method, call) == ("POST", "chat/completions"):
            await self._complete(scope, request, writer)
        else:
            await Reply(writer).error(NO_SUCH_PATH)

    async def _complete(self, scope: str, request: Request, writer: asyncio.StreamWriter) -> None:
        asked = json.loads(request.body)
        model, messages = asked["model"], tuple(asked.get("messages", ()))
        self._counts[scope, model] += 1
        first_at = self._first.setdefault((scope, model), time.monotonic())
        refused = self._answering[scope] >= self._most.get(scope, math.inf)
        seen = Seen(scope, model, self._counts[scope, model], request.key, messages, refused)
        self._log.append(seen)
        if refused:
            await Reply(writer, model).error(RATE_LIMIT)
            return
        turn = Turn(model, seen.nth, first_at, seen.roles, len(seen.last_text))
        self._answering[scope] += 1
        try:
            await answer(Reply(writer, model), turn)
        finally:
            self._answering[scope] -= 1

    def _serve_in_thread(self) -> None:
        asyncio.run(self.serve())


async def main(port: int) -> None:
    """Serve as a program: says the address once it listens."""
    provider = Provider(port)
    async with provider._server():
        print(provider.base_url("any"), flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 0))
