"""What ends a flow run early: a signal, or somebody's word in Prefect. Either cancels the attempt at work, once."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from enum import Enum
from typing import Any, Protocol
from uuid import UUID

POLL = 2.0  # seconds between two looks at the flow run's state; a look costs the server some 5 ms
LOOK_LIMIT = 10.0  # seconds for one look; a server that is away is asked again
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopped(Enum):
    """Who ended a flow run early."""

    INTERRUPT = signal.SIGINT
    TERMINATE = signal.SIGTERM
    PREFECT = "Prefect"  # its state was set to Cancelling or Cancelled


class Stoppable(Protocol):
    """What can be ended early; ``by`` says whose word it was. Only the first counts: later ones come while agents are
    being stopped."""

    @property
    def by(self) -> Stopped | None: ...

    def stop(self, by: Stopped) -> None: ...


class Stopping:
    """Cancels one task at the first word of anybody; ``by`` says whose it was. Later ones change nothing: they come
    while agents are being stopped."""

    def __init__(self) -> None:
        self.by: Stopped | None = None
        self._task = asyncio.current_task()

    def stop(self, by: Stopped) -> None:
        """Cancel the task, unless that was done."""
        if self.by is None and self._task is not None and not self._task.done():
            self.by = by
            self._task.cancel()


def handlers_of_caller() -> dict[signal.Signals, Any]:
    """What a program has set for our signals itself, which stays in force: not Python's own handlers, nor those of
    `asyncio.run`. Asked before Prefect puts its own in their place."""
    found = {number: signal.getsignal(number) for number in SIGNALS}
    return {number: handler for number, handler in found.items() if not _is_default(handler)}


def _is_default(handler: Any) -> bool:
    inner = getattr(handler, "func", handler)  # asyncio.run sets a partial of its runner's method
    return handler in (None, signal.SIG_DFL, signal.default_int_handler) or isinstance(
        getattr(inner, "__self__", None), asyncio.Runner
    )


@contextlib.contextmanager
def signals_to(stopping: Stoppable, handlers: Mapping[signal.Signals, Any]) -> Iterator[None]:
    """SIGINT and SIGTERM stop the work, or go to the caller's own ``handlers``, instead of breaking into whatever runs:
    Prefect's handler for SIGTERM raises at any point of the program, also in the middle of writing a record. Only the
    main thread can have signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number in SIGNALS:
        if number in handlers:
            signal.signal(number, handlers[number])
        else:
            loop.add_signal_handler(number, stopping.stop, Stopped(number))
    try:
        yield
    finally:
        stopped = stopping.by in (Stopped.INTERRUPT, Stopped.TERMINATE)
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, _absorb if stopped and number not in handlers else handler)


def _absorb(number: int, frame: object) -> None:
    """Further signals, while what the first one began comes to its end."""


@contextlib.contextmanager
def absorbing() -> Iterator[None]:
    """Within, a stopped run may absorb signals; afterwards they are again what they were."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is _absorb:
                signal.signal(number, handler)


def handlers_in_force() -> Callable[[], None]:
    """What puts the handlers back that our signals have now: a flow within a flow puts Prefect's in their place, and
    takes it away again at its end."""
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def put_back() -> None:
        if threading.current_thread() is threading.main_thread():
            for number, handler in before.items():
                signal.signal(number, handler)

    return put_back


@contextlib.asynccontextmanager
async def watched(flow_run_id: UUID, stopping: Stoppable) -> AsyncIterator[None]:
    """Look at the flow run's state all the while; Cancelling and Cancelled stop the task."""
    watcher = asyncio.get_running_loop().create_task(_watch(flow_run_id, stopping))
    try:
        yield
    finally:
        watcher.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watcher


async def _watch(flow_run_id: UUID, stopping: Stoppable) -> None:
    from prefect.client.orchestration import get_client

    while True:
        await asyncio.sleep(POLL)
        with contextlib.suppress(Exception):  # a server that is away says nothing
            async with asyncio.timeout(LOOK_LIMIT), get_client() as client:
                state = (await client.read_flow_run(flow_run_id)).state
            if state is not None and (state.is_cancelling() or state.is_cancelled()):
                stopping.stop(Stopped.PREFECT)
                return
