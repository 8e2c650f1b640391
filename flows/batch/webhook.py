"""Telling somebody that a batch has ended: a JSON object by POST, signed, tried a few times. It fails nothing."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from atomic.record.files import encode
from atomic.settings.facts import WebhookSettings
from atomic.text import one_line
from flows.batch.facts import BatchResult

if TYPE_CHECKING:
    import httpx

SIGNATURE = "X-Atomic-Flows-Signature"  # sha256=<hex of the HMAC-SHA256 of the body>
TRIES = 4
FIRST_PAUSE = 1.0  # seconds before the second try; each further pause is twice as long
TRY_LIMIT = 10.0  # seconds for one try: with the pauses, an end is not held up for more than a minute


def wanted(settings: WebhookSettings, result: BatchResult) -> bool:
    """Whether this end is one that somebody wants to hear of."""
    return settings.url is not None and (settings.when == "end" or result.exit_code != 0)


def body_of(result: BatchResult, now: float) -> bytes:
    """What is sent: the result, and when. No prompts, no answers."""
    return encode({"event": "batch.ended", "sent_at": now, **result.to_json()})


def signature(secret: str, body: bytes) -> str:
    """The header's value for this body."""
    return f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"


async def send(
    settings: WebhookSettings,
    result: BatchResult,
    *,
    transport: httpx.AsyncBaseTransport | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> str | None:
    """Send the result. Returns what went wrong in the end, None for nothing; raises nothing. The URL, which may hold a
    secret, is not in it."""
    import httpx

    assert settings.url is not None, "somebody wants to hear of it"
    body = body_of(result, time.time())
    headers = {"Content-Type": "application/json"}
    if settings.secret:
        headers[SIGNATURE] = signature(settings.secret, body)
    said = ""
    try:
        async with httpx.AsyncClient(transport=transport, timeout=TRY_LIMIT, follow_redirects=False) as client:
            for n in range(TRIES):
                if n:
                    await sleep(FIRST_PAUSE * 2 ** (n - 1))
                try:
                    async with asyncio.timeout(TRY_LIMIT):
                        reply = await client.post(settings.url, content=body, headers=headers)
                except httpx.UnsupportedProtocol:
                    said = "its URL cannot be used"
                    break
                except (httpx.HTTPError, TimeoutError) as error:
                    said = type(error).__name__
                    continue
                if reply.is_success:
                    return None
                said = f"it answered {reply.status_code}"
                if reply.status_code < 500 and reply.status_code not in (408, 429):
                    break  # it will say the same again
    except (httpx.InvalidURL, ValueError, OSError) as error:
        said = f"its URL cannot be used ({type(error).__name__})"
    return f"the webhook was not told: {one_line(said)}"
