"""A browser that notes what a page must not do: run a script of a stranger's, ask elsewhere, complain."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Browser, Page, Playwright, expect

PATIENCE = 30_000  # milliseconds for anything awaited in a page: a busy machine is no failure


async def launch(playwright: Playwright) -> Browser:
    """The Chromium of this machine."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    expect.set_options(timeout=PATIENCE)
    assert program is not None, "the browser tests need a Chromium: scripts/install-chromium"
    return await playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])


class Seen:
    """A page, and what it did that it should not."""

    def __init__(self, page: Page, origin: str) -> None:
        self.page = page
        self.origin = origin
        self.wrong: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("dialog", lambda dialog: self.wrong.append(f"dialog: {dialog.message}"))
        page.on("popup", lambda popup: self.wrong.append(f"popup: {popup.url}"))
        page.on("console", self._heard)
        page.on("request", self._asked)

    def _heard(self, message: Any) -> None:
        if message.type in {"error", "warning"}:
            self.wrong.append(f"console: {message.text}")

    def _asked(self, request: Any) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in {"data", "blob"} and f"{parts.scheme}://{parts.netloc}" != self.origin:
            self.wrong.append(f"request: {request.url}")

    async def open(self, path: str) -> Page:
        """Go to a page of the dashboard, and wait until it is connected."""
        await self.page.goto(f"{self.origin}{path}")
        await self.page.wait_for_function("window.did_handshake === true")
        return self.page


@asynccontextmanager
async def seen(browser: Browser, origin: str, **options: Any) -> AsyncIterator[Seen]:
    """A page of its own; when it is left, it must have done nothing wrong."""
    context = await browser.new_context(**options)
    try:
        here = Seen(await context.new_page(), origin)
        yield here
        assert here.wrong == [], here.wrong
    finally:
        await context.close()
