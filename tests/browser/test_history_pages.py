"""The pages over the history: what they are asked by is their address, and every figure leads to its runs."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from atomic.failures import FailureKind
from atomic.record import AttemptRecord, RunRecord
from atomic.record.layout import first_id
from atomic.record.totals import with_attempts
from atomic.verdict.facts import Status, Usage, Verdict
from flows.database import Database, Edition, editions, items, loading, runs
from tests.benchmarks.history_data import make
from tests.browser.chromium import seen
from tests.browser.corpus import LINE
from tests.browser.served import Home, served
from tests.flows.databases import came_to, rows

pytestmark = pytest.mark.asyncio(loop_scope="session")
RUNS = 130  # three pages


@contextmanager
def history_of(home: Home) -> Iterator[Database]:
    database = Database.open(None, home=home.path)
    try:
        yield database
    finally:
        database.close()


def write(database: Database, n: int, at: float, **given: object) -> str:
    """A run of two attempts, begun at a time."""
    run_id = f"{first_id(at)[:-6]}aaa{n:03}"
    whole = {"run_id": run_id, "status": "running", "created_at": at, **given}
    failed = Verdict(status=Status.FAILED, kind=FailureKind.OVERFLOW, message=LINE, usage=Usage(input=9, cost_usd=2.0))
    begun = AttemptRecord(run_id=run_id, n=1, model=str(given.get("answered_by", "p/one")), started_at=at)
    step = begun.concluded(failed.model_copy(update={"cost_usd": 2.0}), ended_at=at + 5)
    second = AttemptRecord(run_id=run_id, n=2, model="q/two", started_at=at + 5)
    record = with_attempts(RunRecord.model_validate(whole), (step, second))
    runs.record_run(database, record, (step, second), record="/r", prompt=LINE)
    return run_id


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def past(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home with a few days of runs."""
    home = Home(tmp_path_factory.mktemp("past"))
    with history_of(home) as database:
        make(database, RUNS, days=3, end=time.time() - 3600)
    return home


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def address(past: Home) -> AsyncIterator[str]:
    with served(past) as address:
        yield address


async def titles(page: Page) -> list[str]:
    found: list[str] = await page.locator(".runs .title").evaluate_all("all => all.map((one) => one.href)")
    return found


async def follow(page: Page, name: str) -> None:
    """Click a link, and wait until the page that it leads to is there."""
    await page.evaluate("window.did_handshake = false")
    await page.get_by_role("link", name=name).first.click()
    await page.wait_for_function("window.did_handshake === true")


async def test_runs_are_paged_both_ways_and_the_browser_goes_back(browser: Browser, address: str) -> None:
    async with seen(browser, address) as here:
        page = await here.open("/runs")
        await expect(page.get_by_text(f"{RUNS} runs")).to_be_visible()
        pages = [await titles(page)]
        for _ in range(2):
            await follow(page, "Older →")
            pages.append(await titles(page))
        assert [len(one) for one in pages] == [50, 50, 30]
        assert len({href for one in pages for href in one}) == RUNS
        await follow(page, "← Newer")
        assert await titles(page) == pages[1]
        await follow(page, "← Newer")
        assert await titles(page) == pages[0]
        assert await page.get_by_role("link", name="← Newer").count() == 0
        await page.go_back()
        await expect(page.locator(".runs .title").first).to_have_attribute("href", urlsplit(pages[1][0]).path)


async def test_filter_is_the_address(browser: Browser, address: str) -> None:
    async with seen(browser, address) as here:
        page = await here.open("/runs?window=all")
        await page.get_by_text("Filter", exact=True).click()
        await page.locator("select[name=hopped]").select_option("yes")
        await page.locator("input[name=model]").fill("openai/*")
        await page.evaluate("window.did_handshake = false")
        await page.get_by_role("button", name="Apply").click()
        await page.wait_for_function("window.did_handshake === true")
        query = parse_qs(urlsplit(page.url).query)
        assert query == {"window": ["all"], "model": ["openai/*"], "hopped": ["yes"]}
        hopped = await titles(page)
        assert 0 < len(hopped) < RUNS
        assert await page.locator(".runs .hop-to").count() == len(hopped)
        again = await here.open(urlsplit(page.url).path + "?" + urlsplit(page.url).query)
        assert await titles(again) == hopped
        await follow(page, "model: openai/*")
        assert "model" not in parse_qs(urlsplit(page.url).query)
        page = await here.open("/runs?text=nothing+says+this&status=done")
        await expect(page.get_by_text("No run matches")).to_be_visible()
        await expect(page.get_by_text("“done” is no status")).to_be_visible()


async def test_overview_has_charts_whose_figures_lead_to_their_runs(browser: Browser, address: str) -> None:
    async with seen(browser, address) as here:
        page = await here.open("/?window=30d")
        for chart in await page.locator(".chart").all():
            await expect(chart.locator("svg path[fill^='var(--']").first).to_be_attached()
        await follow(page, "rate limit")
        assert "kind=rate_limit" in page.url
        page = await here.open("/?window=30d")
        await page.locator(".figures summary").last.click()
        cost = page.locator("section", has=page.get_by_role("heading", name="Cost by day")).locator("tbody a").first
        await page.evaluate("window.did_handshake = false")
        await cost.click()
        await page.wait_for_function("window.did_handshake === true")
        query = parse_qs(urlsplit(page.url).query)
        assert query["from"] == query["to"]
        assert query["order"] == ["cost"]
        paid = [float(text.strip("$–") or 0) for text in await page.locator(".runs .cost").all_inner_texts()]
        assert paid == sorted(paid, reverse=True)
        await follow(page, "Compare with the day before")
        await expect(page.get_by_role("heading", name="What changed")).to_be_visible()


async def test_bar_of_a_chart_leads_to_the_runs_of_its_day(browser: Browser, address: str) -> None:
    async with seen(browser, address) as here:
        page = await here.open("/?window=7d")
        bar = page.locator(".chart").first.locator("svg path[fill='var(--answered)']").last
        await bar.wait_for(state="attached")
        await bar.click()
        await page.wait_for_url("**/runs?*")
        query = parse_qs(urlsplit(page.url).query)
        assert query["status"] == ["answered"]
        assert query["from"] == query["to"]


async def test_running_run_is_shown_as_it_ends_and_newer_ones_are_told(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = Home(tmp_path_factory.mktemp("live"))
    at = time.time() - 60
    with history_of(home) as database:
        write(database, 1, at, name="goes on")
        with served(home) as address:
            async with seen(browser, address) as here:
                page = await here.open("/runs")
                await expect(page.locator(".runs .outcome")).to_have_text(re.compile("running"))
                write(database, 1, at, name="goes on", status="answered", answered_by="q/two", ended_at=time.time())
                await expect(page.locator(".runs .outcome")).to_have_text(re.compile("answered"))
                write(database, 2, at, name="came later")
                await follow(page, "Show 1 newer run")
                assert await page.locator(".runs .title").all_inner_texts() == ["came later", "goes on"]


async def test_batch_is_shown_as_it_goes_on_with_what_to_type(browser: Browser, past: Home, address: str) -> None:
    with history_of(past) as database:
        edition = editions.begin(database, "live one", input="/in put.jsonl", output="/out")
        loading.load(database, edition, rows("a", "b", "c", "d"))
        async with seen(browser, address) as here:
            page = await here.open("/batches")
            await follow(page, "live one")
            await expect(page.get_by_text("0 of 4")).to_be_visible()
            await expect(page.get_by_text("atomic-flows stop 'live one'")).to_be_visible()
            _end(database, edition, None, FailureKind.OVERFLOW)
            await expect(page.get_by_text("2 of 4 (50.0 %)")).to_be_visible()
            row = page.get_by_role("row", name=re.compile("overflow"))
            href = await row.get_by_role("link").first.get_attribute("href")
            assert parse_qs(urlsplit(href or "").query) == {
                "window": ["all"],
                "status": ["failed"],
                "kind": ["overflow"],
                "batch": ["live one"],
                "edition": [edition.name],
            }
            editions.finish(database, edition)
            command = f"atomic-flows batch '/in put.jsonl' '--name=live one' --output=/out --edition={edition.name}"
            await expect(page.get_by_text(f"{command} --retry-failed")).to_be_visible()
            assert await page.get_by_role("button").all_inner_texts() == ["Theme", "Copy", "Copy"]


def _end(database: Database, edition: Edition, *kinds: FailureKind | None) -> None:
    claimed = items.claim(database, edition, len(kinds))
    items.end(database, edition, [came_to(one.id, kind) for one, kind in zip(claimed, kinds, strict=True)])


async def test_hostile_text_stays_text_on_every_page(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = Home(tmp_path_factory.mktemp("hostile"))
    with history_of(home) as database:
        hostile = {"name": LINE, "batch": LINE, "edition": LINE, "custom_id": LINE, "message": LINE, "tags": (LINE,)}
        write(database, 1, time.time(), status="answered", answered_by=f"p/{LINE}", ended_at=time.time(), **hostile)
        write(database, 2, time.time(), status="failed", kind="overflow", **hostile)
        edition = editions.begin(database, LINE, input=LINE, output=LINE)
        loading.load(database, edition, rows("a"))
        _end(database, edition, FailureKind.OVERFLOW)
        with served(home) as address:
            async with seen(browser, address, viewport={"width": 390, "height": 800}) as here:
                for path in ("/", "/?tag=x", "/runs", "/runs?order=cost", "/batches", "/compare"):
                    page = await here.open(path)
                    await _looked_over(page, path)
                page = await here.open("/batches")
                await page.evaluate("window.did_handshake = false")
                await page.locator(".batches tbody a").first.click()
                await page.wait_for_function("window.did_handshake === true")
                await _looked_over(page, "/batch")


async def _looked_over(page: Page, path: str) -> None:
    await page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    for chart in await page.locator(".chart").all():
        await chart.locator("svg").wait_for()
        await chart.hover()
    assert await page.evaluate("globalThis.__struck") is None, path
    strange = "main img, main iframe, main script, main style, main form:not([data-asks])"
    assert await page.locator(strange).count() == 0, path
    assert await page.evaluate("document.documentElement.scrollWidth") <= 390, path


async def test_empty_history_says_what_to_do(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> None:
    with served(Home(tmp_path_factory.mktemp("empty"))) as address:
        async with seen(browser, address, color_scheme="dark") as here:
            for path, command in (
                ("/", "atomic-flows run"),
                ("/runs", "atomic-flows run"),
                ("/batches", "atomic-flows batch"),
            ):
                page = await here.open(path)
                await expect(page.get_by_text(command).first).to_be_visible()
            page = await here.open("/compare")
            await expect(page.get_by_text("no two days with runs")).to_be_visible()
            assert (await page.request.get(f"{address}/batch?name=nobody")).status == 404
