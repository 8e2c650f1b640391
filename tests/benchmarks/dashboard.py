"""How soon the dashboard's pages are painted in a real Chromium, on a large history.

    uv run python -m tests.benchmarks.dashboard [--runs 100000] [--rounds 7] [HOME]

HOME is a home whose history.db was made by tests.benchmarks.history_data; without it, one is made. Measured from the
navigation to the frame after the last bar of the last chart, or of the last row, is there; the median of the rounds,
after one that warms the caches up. The first look at a history, which makes the figures of its past days, stands by
itself.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.async_api import Browser, async_playwright

from flows.database import Database
from flows.database.urls import FILE_NAME
from tests.benchmarks.history_data import make
from tests.benchmarks.report import Row, report
from tests.browser.chromium import launch
from tests.browser.served import Home, served

TARGET = 1.5  # seconds
DAYS = 90
PATIENCE = 120_000  # ms
CHARTS = """() => {
    const charts = [...document.querySelectorAll(".chart")];
    return charts.length > 1 && charts.every((one) => one.querySelector("svg path[fill^='var(--']"));
}"""
ROWS = "() => document.querySelectorAll('.runs tbody tr').length >= 50"
PAINTED = (
    "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))))"
)
PAGES = {
    "overview, 7 days": ("/", CHARTS, TARGET),
    "overview, 90 days": ("/?window=90d", CHARTS, TARGET),
    "overview of a model": ("/?window=90d&model=openai%2Fgpt-5.2", CHARTS, None),
    "runs": ("/runs", ROWS, TARGET),
    "runs answered by another model": ("/runs?hopped=yes", ROWS, TARGET),
    "dearest runs of 30 days": ("/runs?window=30d&order=cost", ROWS, None),
}


async def painted(browser: Browser, address: str, there: str) -> float:
    """Seconds from the navigation until it is there and painted, in a tab of its own."""
    page = await browser.new_page()
    try:
        await page.goto(address, timeout=PATIENCE, wait_until="commit")
        await page.wait_for_function(there, timeout=PATIENCE)
        taken: float = await page.evaluate(PAINTED)
    finally:
        await page.close()
    return taken / 1000


async def measure(home: Home, rounds: int) -> list[Row]:
    """All pages."""
    rows = []
    with served(home) as address:
        async with async_playwright() as playwright:
            browser = await launch(playwright)
            first = await painted(browser, f"{address}/?window=90d", CHARTS)
            rows.append(Row("first look at all days", first, "s"))
            for name, (path, there, target) in PAGES.items():
                await painted(browser, address + path, there)
                found = [await painted(browser, address + path, there) for _ in range(rounds)]
                rows.append(Row(name, statistics.median(found), "s", target))
            await browser.close()
    return rows


def main() -> None:
    """Print the times; exit code 3 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("home", nargs="?", type=Path)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = given.home or Path(folder)
        if given.home is None:
            database = Database.open(None, home=home)
            make(database, given.runs, days=DAYS, end=time.time())
            database.close()
        elif not (home / FILE_NAME).exists():
            parser.error(f"{home} has no {FILE_NAME}")
        rows = asyncio.run(measure(Home(home), given.rounds))
    sys.exit(report("Painting the dashboard's pages", rows))


if __name__ == "__main__":
    main()
