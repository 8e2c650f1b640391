"""Work in a thread that must not be left half done."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def whole(work: Callable[[], T]) -> T:
    """Do it in a thread, and wait for its end: a cancel is passed on then, a second one at once. Raises what it
    raises."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
