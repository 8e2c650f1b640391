"""Awaiting through cancels: what a clean-up needs, which must come to its end whoever wants it to stop."""

from __future__ import annotations

import asyncio
from typing import TypeVar

T = TypeVar("T")


class Steady:
    """Awaits that a cancel does not end. ``cancelled`` says whether one came: who uses this raises CancelledError when
    the clean-up is done.

    Nothing is put into tasks of its own: a loop that shuts down cancels all tasks, and would break those off.
    """

    __slots__ = ("cancelled",)

    def __init__(self) -> None:
        self.cancelled = False

    async def result(self, future: asyncio.Future[T]) -> T:
        """The future's result, however long it takes."""
        await self.wait(future, None)
        return future.result()

    async def wait(self, future: asyncio.Future[T], timeout: float | None) -> bool:  # noqa: ASYNC109 - see the class
        """Wait for the future so many seconds at most. Returns whether it is done."""
        loop = asyncio.get_running_loop()
        until = None if timeout is None else loop.time() + timeout
        while not future.done():
            if until is not None and until <= loop.time():
                return False
            await self._once(future, until)
        return True

    async def _once(self, future: asyncio.Future[T], until: float | None) -> None:
        """Until the future is done, the time is over, or a cancel comes. The future itself is not what is awaited: a
        cancel would reach it."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()

        def wake(_: object = None) -> None:
            if not waiter.done():
                waiter.set_result(None)

        future.add_done_callback(wake)
        timer = None if until is None else loop.call_at(until, wake)
        try:
            await waiter
        except asyncio.CancelledError:
            self.cancelled = True
        finally:
            future.remove_done_callback(wake)
            if timer is not None:
                timer.cancel()

    async def sleep(self, seconds: float) -> None:
        """Let so much time pass."""
        await self.wait(asyncio.get_running_loop().create_future(), seconds)
