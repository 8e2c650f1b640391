"""What holds for every page: how it is found, read and used."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser

from tests.browser.chromium import seen
from tests.browser.served import Home

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_run_is_shown_under_an_address_of_its_own(browser: Browser, dashboard: str, home: Home) -> None:
    run_id = home.runs["fell-back"].run_id
    async with seen(browser, dashboard) as here:
        page = await here.open(f"/runs/{run_id}")
        assert await page.title() == "fell-back · atomic-flows"
        assert "Hello from a scripted agent." in await page.inner_text("main")


async def test_page_has_landmarks_and_a_way_past_the_navigation(browser: Browser, dashboard: str) -> None:
    async with seen(browser, dashboard) as here:
        page = await here.open("/runs")
        assert await page.get_by_role("banner").count() == 1
        assert await page.get_by_role("navigation").count() == 1
        assert await page.get_by_role("main").count() == 1
        assert await page.locator("h1").count() == 1
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        assert await page.evaluate("document.activeElement.id") == "main"


async def test_theme_follows_the_system_until_another_is_chosen(browser: Browser, dashboard: str) -> None:
    async with seen(browser, dashboard, color_scheme="dark") as here:
        page = await here.open("/runs")
        assert await page.evaluate("document.documentElement.dataset.theme") == "dark"
        await page.get_by_role("button", name="Switch light and dark").click()
        await page.reload()
        assert await page.evaluate("document.documentElement.dataset.theme") == "light"


async def test_nothing_scrolls_sideways_on_a_phone(browser: Browser, dashboard: str, home: Home) -> None:
    async with seen(browser, dashboard, viewport={"width": 390, "height": 800}) as here:
        for path in ("/runs", f"/runs/{home.runs['fell-back'].run_id}"):
            page = await here.open(path)
            assert await page.evaluate("document.documentElement.scrollWidth") <= 390
