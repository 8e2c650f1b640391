"""A run in the browser: why it fell back, the event that decided it, what was said, the stream as a file."""

from __future__ import annotations

import asyncio
import hashlib
import re
import shutil
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Browser, expect

from atomic.record import RunStore
from tests.browser.chromium import PATIENCE, seen
from tests.browser.served import Home, served

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_says_why_it_fell_back_and_leads_to_the_event_that_decided_it(
    browser: Browser, dashboard: str, home: Home
) -> None:
    run_id = home.runs["fell-back"].run_id
    async with seen(browser, dashboard) as here:
        page = await here.open(f"/runs/{run_id}")
        for sign in ("scripted/overflow failed with overflow", "other/rate-limit failed with rate limit", "third/ok"):
            await expect(page.locator("main")).to_contain_text(sign)
        assert await page.locator("li.attempt").count() == 3
        assert "after overflow; starts fresh" in await page.locator("li.hop").first.inner_text()
        await page.get_by_role("link", name="compaction_end, line 18").click()
        await page.wait_for_url(f"**/runs/{run_id}/1/events?line=18#e18")
        chosen = page.locator("#e18")
        await expect(chosen).to_be_in_viewport()
        await expect(chosen.locator("pre")).to_contain_text('"unresolvedOverflow":true')
        assert await page.locator("details[open]").count() == 1


async def test_download_is_the_record_byte_for_byte(browser: Browser, dashboard: str, home: Home) -> None:
    run = home.runs["many-turns"]
    folder = RunStore(home.path / "records", home=home.path).open(run.run_id).attempt(1)
    with folder.open_stream() as stream:
        recorded = stream.read()
    async with seen(browser, dashboard) as here:
        page = await here.open(f"/runs/{run.run_id}")
        async with page.expect_download() as downloading:
            await page.get_by_role("link", name="Download the stream").click()
        download = await downloading.value
        assert download.suggested_filename == f"{run.run_id}-1.jsonl"
        assert Path(await download.path()).read_bytes() == recorded
        response = await page.request.get(f"{dashboard}/runs/{run.run_id}/1/stream.jsonl")
        assert response.headers["x-content-sha256"] == hashlib.sha256(recorded).hexdigest()
        assert response.headers["x-content-type-options"] == "nosniff"


async def test_raw_events_are_paged_and_each_has_an_address(browser: Browser, dashboard: str, home: Home) -> None:
    base = f"/runs/{home.runs['many-turns'].run_id}/1/events"
    async with seen(browser, dashboard) as here:
        page = await here.open(base)
        assert await page.locator(".events li").count() == 100
        await page.get_by_role("link", name="Later").click()
        await page.wait_for_url(f"**{base}?from=101")
        await expect(page.locator(".events li").first).to_have_attribute("id", "e101")
        await page.go_back()
        await expect(page.locator(".events li").first).to_have_attribute("id", "e1")
        page = await here.open(f"{base}?line=250#e250")
        await expect(page.locator("#e250")).to_be_in_viewport()
        page = await here.open(f"{base}?from=9999999")
        await expect(page.locator("main")).to_contain_text("There are no events here.")


async def test_tool_calls_are_folded_and_open_by_keyboard(browser: Browser, dashboard: str, home: Home) -> None:
    async with seen(browser, dashboard) as here:
        page = await here.open(f"/runs/{home.runs['with-tools'].run_id}/1")
        await expect(page.locator("li.prompt")).to_contain_text("What does the command say?")
        tool = page.locator("li.tool")
        assert not await tool.locator("pre").first.is_visible()
        await tool.locator("summary").focus()
        await page.keyboard.press("Enter")
        await expect(tool.locator("pre").first).to_be_visible()
        await expect(tool).to_contain_text("result")


async def test_running_run_goes_on_by_itself(browser: Browser, home: Home, dashboard: str) -> None:
    running = asyncio.create_task(home.run("slow", "scripted/slow-40"))
    store = RunStore(home.path / "records", home=home.path)
    async with seen(browser, dashboard) as here:
        while not (run_ids := [entry.run_id for entry in store.live.entries()]):
            await asyncio.sleep(0.05)
        page = await here.open(f"/runs/{run_ids[0]}")
        await expect(page.locator(".verdict")).to_contain_text("running")
        await expect(page.locator(".verdict")).to_contain_text("answered", timeout=PATIENCE)
        answer = page.get_by_role("region", name="Answer")
        assert (await running).answer == (await answer.locator("pre").inner_text())


async def test_missing_and_torn_records_show_what_there_is(browser: Browser, tmp_path: Path) -> None:
    home = Home(tmp_path)
    names = ("no-run", "no-attempt", "torn", "gone", "not-json")
    await asyncio.gather(*(home.run(name, "scripted/turns-3") for name in names))
    place = {name: Path(home.runs[name].record) for name in names}
    (place["no-run"] / "run.json").unlink()
    (place["no-attempt"] / "attempt-1" / "attempt.json").write_bytes(b'{"run_id":')
    packed = place["torn"] / "attempt-1" / "stream.jsonl.zst"
    packed.write_bytes(packed.read_bytes()[:-40])
    shutil.rmtree(place["gone"] / "attempt-1")
    (place["not-json"] / "attempt-1" / "stream.jsonl.zst").write_bytes(b"no stream at all\n\0\xff")
    with served(home) as address:
        async with httpx.AsyncClient(base_url=address, trust_env=False, timeout=None) as client:
            for name in names:
                for path in ("", "/1", "/1/events", "/1/stream.jsonl"):
                    answer = await client.get(f"/runs/{home.runs[name].run_id}{path}")
                    assert answer.status_code in ({404} if name == "gone" and path.endswith("jsonl") else {200})
                    assert "This page failed" not in answer.text
        async with seen(browser, address) as here:
            page = await here.open(f"/runs/{home.runs['no-run'].run_id}")
            await expect(page.locator(".warning").first).to_contain_text("run.json is missing")
            page = await here.open(f"/runs/{home.runs['torn'].run_id}/1")
            await expect(page.locator(".warning").first).to_be_visible()


async def test_what_is_not_there_is_said(browser: Browser, dashboard: str, home: Home) -> None:
    async with seen(browser, dashboard) as here:
        run_id = home.runs["fell-back"].run_id
        for path in (
            "/runs/20200101-000000-aaaaaaaa",
            "/runs/..%2F..%2Fetc",
            f"/runs/{run_id}/4",
            f"/runs/{run_id}/x/events",
        ):
            page = await here.open(path)
            assert await page.locator("h1").count() == 1
            assert re.search("There is no|has no attempt", await page.title())
        assert here.wrong.pop(0).startswith("console: Failed to load resource")  # the browser tells each 404
        here.wrong = [wrong for wrong in here.wrong if "404" not in wrong]
