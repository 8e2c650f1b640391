from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright

from tests.browser.chromium import launch
from tests.browser.served import Home, served


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """One browser for all tests of this process."""
    async with async_playwright() as playwright:
        browser = await launch(playwright)
        yield browser
        await browser.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home with a few runs, which tests read only."""
    home = Home(tmp_path_factory.mktemp("home"))
    await asyncio.gather(
        home.run("fell-back", "scripted/overflow", "other/rate-limit", "third/ok"),
        home.run("with-tools", "scripted/tool", prompt="What does the command say?"),
        home.run("many-turns", "scripted/turns-40"),
    )
    return home


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def dashboard(home: Home) -> AsyncIterator[str]:
    """The address of a dashboard on that home."""
    with served(home) as address:
        yield address
