"""What ends a flow run early: a signal, or somebody's word in Prefect. Either cancels the attempt at work, once."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import AsyncIterator, Iterator
from enum import Enum
from typing import Protocol
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
    """What can be ended early. Only the first word counts; later ones come while agents are being stopped."""

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


@contextlib.contextmanager
def signals_to(stopping: Stoppable) -> Iterator[None]:
    """SIGINT and SIGTERM stop the work instead of breaking into whatever runs. Prefect's own handler for SIGTERM raises
    at any point of the program, also in the middle of writing a record. Only the main thread can have signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number in SIGNALS:
        loop.add_signal_handler(number, stopping.stop, Stopped(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


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
