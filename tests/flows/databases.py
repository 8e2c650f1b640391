"""Databases of both kinds for tests, and what is done with them again and again."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from sqlalchemy import update

from atomic.failures import FailureKind
from atomic.verdict.facts import Status
from flows.database import Database, Edition, Ended, ItemRow, items
from flows.database.tables import editions as e

HOLDER = """
import sys, time
from pathlib import Path
from flows.database import Database, ItemRow, editions, items, loading
database = Database.open(sys.argv[1], home=Path("/nowhere"))
edition = editions.begin(database, "nightly")
loading.load(database, edition, [ItemRow(f"item-{n}", "d", "") for n in range(5)])
items.claim(database, edition, 2)
print("begun", flush=True)
time.sleep(600)
"""


@dataclass
class Where:
    """A place for a database."""

    url: str
    home: Path
    opened: list[Database] = field(default_factory=list)
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def open(self, *, patience: float = 30) -> Database:
        """Open it; it is closed when the test ends."""
        database = Database.open(self.url, home=self.home, patience=patience)
        self.opened.append(database)
        return database

    def start(self, program: str, *args: str) -> subprocess.Popen[str]:
        """Start a Python program that is given the URL and these arguments."""
        command = [sys.executable, "-c", program, self.url, *args]
        self.started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        return self.started[-1]

    def hold(self) -> subprocess.Popen[str]:
        """A process that has begun the edition of `nightly` with five items and claimed two."""
        process = self.start(HOLDER)
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        return process

    def end(self) -> None:
        """Close what was opened, and end what was started."""
        for process in self.started:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
        for database in self.opened:
            database.close()


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Where]:
    """A place of each kind, with nothing in it."""
    sqlite = request.param == "sqlite"
    url = f"sqlite:///{tmp_path}/a home/history.db" if sqlite else request.getfixturevalue("postgres").create()
    place = Where(url, tmp_path / "a home")
    yield place
    place.end()


@pytest.fixture
def database(where: Where) -> Database:
    """An open database of each kind."""
    return where.open()


def rows(*names: str, digest: str = "d", source: str = "") -> list[ItemRow]:
    """Items with these ids."""
    return [ItemRow(name, digest, source) for name in names]


def came_to(item_id: int, kind: FailureKind | None = None, answer: str = "42") -> Ended:
    """An answer, or a failure of a kind."""
    status = Status.FAILED if kind else Status.ANSWERED
    return Ended(item_id, status, kind, f"run-{item_id}", json.dumps({"id": item_id, "answer": answer}))


def work_off(database: Database, edition: Edition, kinds: dict[str, FailureKind] | None = None) -> list[str]:
    """Claim and end all that can be claimed, failing those that are named; their ids in order."""
    found: list[str] = []
    while claimed := items.claim(database, edition, 3):
        items.end(database, edition, [came_to(one.id, (kinds or {}).get(one.custom_id)) for one in claimed])
        found += [one.custom_id for one in claimed]
    return found


def let_be_silent(database: Database, edition_id: int, seconds: float) -> None:
    """As if the owner's last sign of life were so old."""
    with database.writing() as connection:
        connection.execute(update(e).where(e.c.id == edition_id).values(heartbeat_at=e.c.heartbeat_at - seconds))
