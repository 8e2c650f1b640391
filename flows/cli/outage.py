"""A Prefect server that goes away while a command runs: nothing is gained by asking it again and again."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import httpx

LOOK = 2.0  # seconds between two looks; each costs the server some milliseconds
LOOK_LIMIT = 10.0  # seconds for an answer; a busy server takes its time, and one that takes longer has not gone
GONE_AFTER = 2  # looks in a row that found nobody: one may meet a server that is being restarted


@contextlib.asynccontextmanager
async def noticing_outage(url: str) -> AsyncIterator[None]:
    """Within, Prefect's client repeats no request while nobody listens at its server's address, so that a run whose
    answer is on record ends at once; else it would be half a minute, a few repetitions for each thing to tell."""
    watcher = asyncio.get_running_loop().create_task(_watch(url))
    try:
        yield
    finally:
        watcher.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watcher


async def _watch(url: str) -> None:
    from prefect.settings import get_current_settings

    client = get_current_settings().client
    usual = client.max_retries
    missed = 0
    async with httpx.AsyncClient(timeout=LOOK_LIMIT) as asking:
        while True:
            try:
                await asking.get(f"{url}/health")
                missed = 0
            except httpx.ConnectError:
                missed += 1
            except httpx.HTTPError:
                pass  # somebody is there
            client.max_retries = 0 if missed >= GONE_AFTER else usual
            await asyncio.sleep(LOOK)
