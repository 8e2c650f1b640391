"""Hostile text stays text, and strangers stay outside."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from playwright.async_api import Browser, Page, expect

from atomic import run
from atomic.settings import load_settings
from flows.dashboard.guard import COOKIE
from tests.browser.chromium import seen
from tests.browser.corpus import LINE, PAYLOADS, TEXT
from tests.browser.served import Home, served
from tests.flows.hostile import hostile_agent

pytestmark = pytest.mark.asyncio(loop_scope="session")
TOKEN = "a token that nobody guesses"


async def hostile_home(folder: Path) -> Home:
    """A home in which every field that holds text holds the corpus."""
    home = Home(folder)
    settings = load_settings(folder, environ=home.environ())
    for name, fails in (("answers", False), ("fails", True)):
        place = folder / name
        place.mkdir()
        home.runs[name] = await run(
            TEXT.replace("\x00", "").replace("\ud800", ""),
            name=LINE.replace("\ud800", "")[:900] + name,
            tags=[payload for payload in PAYLOADS if payload.isprintable()],
            metadata={"note": LINE.replace("\ud800", "")},
            agent=hostile_agent(place, TEXT.replace("\ud800", "").replace("\x00", ""), fails=fails),
            settings=settings,
            cwd=folder,
            check=False,
        )
    return home


async def unfold(page: Page) -> None:
    """Open everything that is folded."""
    await page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")


async def test_hostile_text_is_shown_as_text_everywhere(browser: Browser, tmp_path: Path) -> None:
    home = await hostile_home(tmp_path)
    with served(home) as address:
        async with seen(browser, address) as here:
            paths = ["/", "/runs"]
            for result in home.runs.values():
                paths += [f"/runs/{result.run_id}{rest}" for rest in ("", "/1", "/1/events", "/1/events?line=4")]
            for path in paths:
                page = await here.open(path)
                await unfold(page)
                assert await page.evaluate("globalThis.__struck") is None, path
                assert (
                    await page.locator(
                        "main img, main iframe, main script, main style, main form:not([data-asks])"
                    ).count()
                    == 0
                )
            page = await here.open(f"/runs/{home.runs['fails'].run_id}")
            for payload in PAYLOADS[:-1]:
                await expect(page.get_by_role("region", name="Prompt").locator("pre")).to_contain_text(payload)


async def test_no_script_but_ours_runs_and_nothing_is_loaded_from_elsewhere(browser: Browser, dashboard: str) -> None:
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto(f"{dashboard}/runs")
    await page.wait_for_function("window.did_handshake === true")
    refused = await page.evaluate(
        """async () => {
            const refused = [];
            document.addEventListener("securitypolicyviolation", (event) => refused.push(event.effectiveDirective));
            const inline = document.createElement("script");
            inline.textContent = "globalThis.__struck = 1";
            const image = document.createElement("img");
            image.src = "https://evil.example/p.png";
            document.body.append(inline, image);
            document.body.insertAdjacentHTML("beforeend", "<b onclick='globalThis.__struck = 1'>x</b>");
            document.body.lastElementChild.click();
            await fetch("https://evil.example/").catch(() => {});
            for (let tries = 0; refused.length < 4 && tries < 500; tries++) {
                await new Promise((go) => setTimeout(go, 20));
            }
            return [globalThis.__struck ?? null, refused.sort()];
        }"""
    )
    assert refused == [None, ["connect-src", "img-src", "script-src-attr", "script-src-elem"]]
    await context.close()


async def test_strangers_stay_outside(dashboard: str) -> None:
    async with httpx.AsyncClient(base_url=dashboard, trust_env=False, timeout=None) as client:
        assert (await client.get("/runs", headers={"Host": "evil.example"})).status_code == 421
        assert (await client.post("/login", headers={"Origin": "https://evil.example"})).status_code == 403
        polling = await client.get("/_nicegui_ws/socket.io/?EIO=4&transport=polling")
        assert polling.status_code == 403
        page = await client.get("/runs", headers={"X-Forwarded-Prefix": "//evil.example"})
        assert page.status_code == 200
        assert "evil.example" not in page.text
        assert page.headers["cache-control"] == "no-store"
        assert page.headers["x-frame-options"] == "DENY"
        for method in ("PUT", "DELETE", "PATCH"):
            assert (await client.request(method, "/runs")).status_code == 405
        for path in ("/docs", "/openapi.json", "/static/../app.py", "/static/%2e%2e/app.py", "/runs/x/1/stream.jsonl"):
            assert (await client.get(path)).status_code == 404


async def test_token_is_asked_for_once_and_is_in_no_address(browser: Browser, home: Home) -> None:
    with served(home, ATOMIC_FLOWS_DASHBOARD_TOKEN=TOKEN) as address:
        async with httpx.AsyncClient(base_url=address, trust_env=False, timeout=None) as client:
            assert (await client.get("/runs")).status_code == 401
            assert (await client.get("/runs", headers={"Authorization": "Bearer wrong"})).status_code == 401
            assert (await client.get("/runs", headers={"Authorization": f"Bearer {TOKEN}"})).status_code == 200
        async with seen(browser, address) as here:
            page = here.page
            run_id = home.runs["fell-back"].run_id
            await page.goto(f"{address}/runs/{run_id}?a=1")
            await page.get_by_label("Token").fill("not the token at all")
            await page.get_by_role("button", name="Log in").click()
            await expect(page.get_by_role("alert")).to_contain_text("That is not the token.")
            await page.get_by_label("Token").fill(TOKEN)
            await page.get_by_role("button", name="Log in").click()
            await page.wait_for_url(f"{address}/runs/{run_id}?a=1")
            await page.wait_for_function("window.did_handshake === true")
            (cookie,) = await page.context.cookies()
            assert (cookie["name"], cookie["httpOnly"], cookie["sameSite"]) == (COOKIE, True, "Strict")
            assert TOKEN not in cookie["value"]
            here.wrong = [one for one in here.wrong if "401 (Unauthorized)" not in one]  # as the browser tells it
