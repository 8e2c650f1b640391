"""A database that cannot be used: every error names it, says what is wrong, and what helps."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, text

from atomic.errors import DatabaseError, PlaceError
from flows.database import Database, editions, items, loading
from tests.flows.databases import Where, rows
from tests.postgres import PASSWORD, Cluster

LOCKER = """
import sys, time
from pathlib import Path
from sqlalchemy import text
from flows.database import Database
database = Database.open(sys.argv[1], home=Path("/nowhere"))
with database.writing() as connection:
    connection.execute(text("UPDATE editions SET reason = 'locked'"))
    print("locked", flush=True)
    time.sleep(600)
"""


def said(error: DatabaseError, place: object, reason: str) -> str:
    """The error's text, once it is known to name the database and to help."""
    assert error.reason == reason
    assert str(place) in error.message
    assert str(place) == error.url
    assert error.hint
    return f"{error.message} {error.hint}"


def test_locked_by_another_process(where: Where) -> None:
    database = where.open(patience=0.2)
    edition = editions.begin(database, "nightly")
    locker = where.start(LOCKER)
    assert locker.stdout is not None
    assert locker.stdout.readline() == "locked\n"
    with pytest.raises(DatabaseError) as raised:
        editions.heartbeat(database, edition)
    assert "another process holds a lock" in said(raised.value, database.place, "locked")
    with pytest.raises(DatabaseError) as raised:
        editions.begin(where.open(patience=0.2), "nightly")
    said(raised.value, database.place, "locked")
    locker.kill()
    locker.wait()
    while True:  # a server needs a moment to notice that a client is gone
        with contextlib.suppress(DatabaseError):
            assert editions.heartbeat(database, edition) == "run"
            break


def test_no_space_left_loses_nothing_and_goes_on_when_there_is_some(tmp_path: Path) -> None:
    database = Database.open(home=tmp_path)
    edition = editions.begin(database, "nightly")
    loading.load(database, edition, rows("a", "b"))

    def fill(connection: Any, *_: Any) -> None:
        connection.execute("PRAGMA max_page_count = 40")  # what a full disk comes to, for SQLite

    database.engine.dispose()
    event.listen(database.engine, "connect", fill)
    with pytest.raises(DatabaseError) as raised:
        loading.load(database, edition, rows("a", "b", *map(str, range(1500)), source="x" * 100))
    assert "no space left" in said(raised.value, tmp_path / "history.db", "full")
    assert items.counts(database, edition.id).pending == 2
    event.remove(database.engine, "connect", fill)
    database.engine.dispose()
    assert loading.load(database, edition, rows("a", "b", *map(str, range(1500)))).new == 1500
    database.close()


def test_a_file_that_may_only_be_read(tmp_path: Path) -> None:
    Database.open(home=tmp_path).close()
    url = f"sqlite:///file:{tmp_path}/history.db?mode=ro&uri=true"
    with pytest.raises(DatabaseError) as raised:
        editions.begin(Database.open(url, home=tmp_path), "nightly")
    assert "not written" in said(raised.value, raised.value.url, "readonly")
    assert "history.db" in raised.value.url


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "history.db").write_text("Dear diary, today I was taken for a database. " * 100)
    with pytest.raises(DatabaseError) as raised:
        Database.open(home=tmp_path)
    assert "the records are the truth" in said(raised.value, tmp_path / "history.db", "corrupt")
    assert (tmp_path / "history.db").read_text().startswith("Dear diary")


def test_a_damaged_file(tmp_path: Path) -> None:
    database = Database.open(home=tmp_path)
    edition = editions.begin(database, "nightly")
    loading.load(database, edition, rows(*map(str, range(2000))))
    database.close()
    with (tmp_path / "history.db").open("r+b") as file:
        file.seek(4096)
        file.write(b"\0garbage" * 20_000)
    with pytest.raises(DatabaseError) as raised:
        editions.begin(Database.open(home=tmp_path), "nightly")
    said(raised.value, tmp_path / "history.db", "corrupt")


def test_a_folder_in_the_place_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "history.db").mkdir()
    with pytest.raises(DatabaseError) as raised:
        Database.open(home=tmp_path)
    said(raised.value, tmp_path / "history.db", "denied")


def test_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    with pytest.raises(PlaceError, match=r"home"):
        Database.open(home=tmp_path / "home")


def test_a_file_of_another_program(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "history.db")
    other.execute("CREATE TABLE batches (of_biscuits TEXT)")
    other.commit()
    other.close()
    with pytest.raises(DatabaseError) as raised:
        Database.open(home=tmp_path)
    assert "already exists" in said(raised.value, tmp_path / "history.db", "failed")


def test_no_server_there(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError) as raised:
        Database.open("postgresql://u:hunter22@127.0.0.1:1/d", home=tmp_path)
    assert "hunter22" not in said(raised.value, "postgresql://u:•••@127.0.0.1:1/d", "unreachable")


@pytest.mark.parametrize("wrong", ["password", "database", "user"])
def test_a_server_that_refuses(postgres: Cluster, wrong: str, tmp_path: Path) -> None:
    url = {
        "password": postgres.url("postgres", password="hunter22"),
        "database": postgres.url("no_such"),
        "user": postgres.url("postgres").replace("owner", "nobody"),
    }[wrong]
    with pytest.raises(DatabaseError) as raised:
        Database.open(url, home=tmp_path)
    text = said(raised.value, raised.value.url, "denied")
    assert "hunter22" not in text
    assert PASSWORD not in text
    assert f"127.0.0.1:{postgres.port}" in text


def test_a_server_that_lets_only_read(postgres: Cluster, tmp_path: Path) -> None:
    url = postgres.create()
    Database.open(url, home=tmp_path).close()
    name = url.rpartition("/")[2]
    postgres.sql(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    database = Database.open(url, home=tmp_path)
    with pytest.raises(DatabaseError) as raised:
        editions.begin(database, "nightly")
    said(raised.value, database.place, "readonly")
    database.close()


def test_a_server_that_was_started_anew_is_reached_again(postgres: Cluster, tmp_path: Path) -> None:
    database = Database.open(postgres.create(), home=tmp_path)
    edition = editions.begin(database, "nightly")
    with database.reading() as connection:
        connection.execute(text("SELECT 1"))
    postgres.sql(
        f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database.engine.url.database}'"
    )
    assert editions.heartbeat(database, edition) == "run"
    database.close()
