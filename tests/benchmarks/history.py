"""How fast the history's queries are on a large database, made by tests.benchmarks.history_data.

    uv run python -m tests.benchmarks.history [--runs 1000000] [--rounds 20] [WHERE]

Each query is asked so many times, with other filters and cursors each time, and its 95th percentile is held against the
target; where that is missed, what this process used of it tells whether others used the rest. What is made once (the
figures of past days) is measured by itself.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

from flows import history
from flows.database import Database
from flows.history import RunFilter
from flows.history.zones import day_of, local_zone
from tests.benchmarks.history_data import BATCHES, DAY, PRICES, TAGS, make
from tests.benchmarks.report import Row, report

TARGET = 200.0  # ms
LIST_TARGET = 1.0  # seconds, the whole command
LIST_RATIO = 2.5  # of the CPU that SQLAlchemy, Pydantic and Typer take to be imported
LIMIT = 50

Query = Callable[[], object]


def queries(database: Database, now: float, chance: random.Random) -> dict[str, Query]:
    """What the pages and commands ask, by name."""
    models = list(PRICES)

    def since() -> float:
        return now - chance.choice((1, 7, 30)) * DAY

    def pages(asked: RunFilter) -> object:
        found = history.runs_page(database, asked, limit=LIMIT)
        return found.next and history.runs_page(database, asked, after=found.next, limit=LIMIT)

    every = RunFilter()
    return {
        "runs, two pages": lambda: pages(RunFilter()),
        "runs, deep": lambda: history.runs_page(database, every, after=_cursor(database, now, chance), limit=LIMIT),
        "runs that failed": lambda: pages(RunFilter(status=("failed",))),
        "runs by kind": lambda: pages(RunFilter(kind=(chance.choice(("quota", "refusal", "overflow")),))),
        "runs by model": lambda: pages(RunFilter(model=(chance.choice(models),))),
        "runs by provider": lambda: pages(RunFilter(provider=("openrouter",))),
        "runs by tag": lambda: pages(RunFilter(tag=(chance.choice(TAGS),))),
        "runs by two tags and kind": lambda: pages(RunFilter(tag=("urgent", "docs"), kind=("refusal",))),
        "runs of a batch": lambda: pages(RunFilter(batch=chance.choice(BATCHES))),
        "runs of an edition": lambda: pages(RunFilter(batch=BATCHES[0], edition=_edition(now, chance))),
        "runs by name": lambda: pages(RunFilter(name="fix-17*")),
        "runs not by the first model": lambda: pages(RunFilter(hopped=True)),
        "runs by text": lambda: pages(RunFilter(text="repository 4711")),
        "overview, all time": lambda: history.overview(database, every),
        "overview, 1 to 30 days": lambda: history.overview(database, RunFilter(since=since())),
        "overview of a model": lambda: history.overview(database, RunFilter(model=(chance.choice(models),))),
        "overview of a batch": lambda: history.overview(database, RunFilter(batch=chance.choice(BATCHES))),
        "outcomes by day, all time": lambda: history.outcomes_by_day(database, every),
        "outcomes by day, 30 days": lambda: history.outcomes_by_day(database, RunFilter(since=now - 30 * DAY)),
        "spend by day, 30 days": lambda: history.spend_by_day(database, RunFilter(since=now - 30 * DAY)),
        "cost by model, all time": lambda: history.cost_by_model(database, every),
        "hops, all time": lambda: history.hops(database, every),
        "kinds, all time": lambda: history.kinds(database, every),
        "durations, all time": lambda: history.durations(database, every),
        "health": lambda: history.health(database, now),
        "facets": lambda: history.facets(database),
        "batches": lambda: history.batches_page(database, limit=20),
        "editions of a batch": lambda: history.editions_of(database, chance.choice(BATCHES)),
        "day against day": lambda: history.compare(database, *_two_days(now)),
    }


def _cursor(database: Database, now: float, chance: random.Random) -> str:
    until = now - chance.random() * 300 * DAY
    return history.runs_page(database, RunFilter(until=until), limit=1).rows[0].run_id


def _edition(now: float, chance: random.Random) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(now - chance.randrange(60) * DAY))


def _two_days(now: float) -> tuple[date, date]:
    return day_of(now - DAY, local_zone()), day_of(now - 8 * DAY, local_zone())


def p95(query: Query, rounds: int) -> tuple[float, float]:
    """The 95th percentiles of so many calls, in milliseconds: of the time they took, and of the CPU's."""
    taken, used = [], []
    for _ in range(rounds):
        begun, before = time.perf_counter(), time.process_time()
        query()
        taken.append(time.perf_counter() - begun)
        used.append(time.process_time() - before)
    at = max(0, round(0.95 * rounds) - 1)
    return sorted(taken)[at] * 1000, sorted(used)[at] * 1000


def list_rows(file: Path) -> list[Row]:
    """What `history list` takes on a database, the whole process: by the clock, and in CPU against a process that does
    nothing but import the libraries."""
    command = [sys.executable, "-c", "from flows.cli import main; main()", "history", "list"]
    empty = [sys.executable, "-c", "import pydantic, sqlalchemy.dialects.sqlite, typer"]
    took, used, least = [], [], []
    with tempfile.TemporaryDirectory() as home:
        env = {"PATH": "/usr/bin:/bin", "ATOMIC_FLOWS_HOME": home, "ATOMIC_FLOWS_HISTORY__URL": f"sqlite:///{file}"}
        for _ in range(5):
            begun = time.perf_counter()
            used.append(_cpu(command, env, home))
            took.append(time.perf_counter() - begun)
            least.append(_cpu(empty, env, home))
    return [
        Row("history list, the command", min(took), "s", LIST_TARGET),
        Row("history list, CPU", min(used), "s"),
        Row("history list / importing its libraries, CPU", min(used) / min(least), "×", LIST_RATIO),
    ]


def _cpu(command: list[str], env: dict[str, str], cwd: str) -> float:
    """Seconds of CPU that a process used."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=env, check=True, capture_output=True, cwd=cwd)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Measure. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("where", nargs="?", help="a database that has been made; by default one is made and removed")
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=20)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        where = given.where or f"{folder}/history.db"
        database = Database.open(where if "://" in where else f"sqlite:///{Path(where).absolute()}", home=Path(folder))
        if given.where is None:
            make(database, given.runs)
        found = history.runs_page(database, RunFilter(), limit=1).rows
        now = found[0].created_at if found else time.time()
        begun = time.perf_counter()
        history.overview(database, RunFilter())
        rows = [Row("the figures of past days, once", time.perf_counter() - begun, "s")]
        for name, query in queries(database, now, random.Random(1)).items():
            took, used = p95(query, given.rounds)
            rows.append(Row(name, took, "ms", TARGET))
            if rows[-1].missed:
                rows.append(Row(f"{name}: CPU of it", used, "ms"))
        database.close()
        if "://" not in where:
            rows += list_rows(Path(where).absolute())
        return report(f"queries on {given.runs:,} runs, 95th percentile of {given.rounds}", rows)


if __name__ == "__main__":
    sys.exit(main())
