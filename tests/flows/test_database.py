"""Opening the database: where it is, who may read it, and that its tables are those the code works with."""

from __future__ import annotations

import asyncio
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

from atomic.errors import DatabaseError
from flows.database import Database, cooldowns, editions
from flows.database.schema import HEAD, VERSION_TABLE
from flows.database.tables import metadata
from flows.database.urls import masked, read_url
from tests.flows.databases import Where

OPENER = """
import sys
from pathlib import Path
from flows.database import Database
sys.stdin.readline()
Database.open(sys.argv[1], home=Path("/nowhere")).close()
print("opened")
"""


def test_without_a_url_it_is_a_private_file_in_the_home(tmp_path: Path) -> None:
    opened = Database.open(home=tmp_path / "home")
    editions.begin(opened, "nightly")
    found = sorted((tmp_path / "home").iterdir())
    assert found[0].name == "history.db"
    assert {stat.S_IMODE(path.stat().st_mode) for path in found} == {0o600}
    assert stat.S_IMODE((tmp_path / "home").stat().st_mode) == 0o700
    opened.close()
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["history.db"]


def test_migrations_leave_just_the_tables_that_the_code_works_with(database: Database) -> None:
    with database.reading() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE, "compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_the_newest_migration_is_the_one_that_open_looks_for() -> None:
    config = Config()
    config.set_main_option("script_location", "flows.database:migrations")
    assert ScriptDirectory.from_config(config).get_current_head() == HEAD


def test_it_lives_beside_other_tables_and_anothers_migrations(where: Where) -> None:
    first = where.open()
    with first.writing() as connection:
        connection.execute(text("CREATE TABLE alembic_version (version_num TEXT)"))
        connection.execute(text("INSERT INTO alembic_version VALUES ('of another program')"))
    editions.begin(where.open(), "nightly")


def test_many_processes_may_open_a_new_one_at_once(where: Where) -> None:
    command = [sys.executable, "-c", OPENER, where.url]
    openers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    ended = []
    for opener in openers:
        assert opener.stdin is not None
        opener.stdin.write("go\n")
        opener.stdin.flush()
    for opener in openers:
        ended.append(opener.communicate())
    assert ended == [("opened\n", "")] * 4


def test_a_schema_of_a_newer_version_is_left_alone(where: Where) -> None:
    with where.open().writing() as connection:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    with pytest.raises(DatabaseError, match=r"newer version.*schema 9999, this one knows") as raised:
        where.open()
    assert raised.value.reason == "newer"
    assert "use that version" in str(raised.value.hint)


async def test_work_goes_on_in_a_thread_of_its_own_in_order(database: Database) -> None:
    found: list[int] = []

    def note(_: Database, n: int) -> int:
        found.append(n)
        return n

    assert await asyncio.gather(*(database.apart(note, n) for n in range(20))) == list(range(20))
    assert found == list(range(20))
    with pytest.raises(ZeroDivisionError):
        await database.apart(lambda _: 1 // 0)


def test_a_reader_is_not_kept_waiting_by_a_writer(where: Where) -> None:
    writer, reader = where.open(), where.open()
    with writer.writing() as connection:
        connection.execute(text("INSERT INTO batches (name, created_at, host, \"user\") VALUES ('b', 0, '', '')"))
        assert cooldowns.current(reader) == []


@pytest.mark.parametrize(
    ("url", "driver", "shown"),
    [
        ("sqlite:////data/a.db", "sqlite+pysqlite", "/data/a.db"),
        ("sqlite+aiosqlite:////data/a.db", "sqlite+pysqlite", "/data/a.db"),
        ("postgres://u@h/d", "postgresql+psycopg", "postgresql://u@h/d"),
        ("postgresql+asyncpg://u:hunter22@h:5433/d", "postgresql+psycopg", "postgresql://u:•••@h:5433/d"),
        ("postgresql://h/d?user=u&password=hunter22", "postgresql+psycopg", "postgresql://h/d?password="),
    ],
)
def test_urls_as_people_write_them(url: str, driver: str, shown: str, tmp_path: Path) -> None:
    found = read_url(url, tmp_path)
    assert found.drivername == driver
    assert masked(found).startswith(shown)
    assert "hunter22" not in masked(found)


@pytest.mark.parametrize(
    ("url", "said", "hint"),
    [
        ("mysql://u:hunter22@h/d", "mysql:// is no database that can be used", "use sqlite:"),
        ("postgresq://u:hunter22@h/d", "postgresq:// is no database", "did you mean postgresql://"),
        ("/data/history.db", "cannot be read", "write it as sqlite:"),
        ("postgresql://u:hunter22@h:port/d", "cannot be read", "write it as"),
        ("sqlite://", "in memory", "use sqlite:"),
        ("sqlite:///:memory:", "in memory", "use sqlite:"),
        ("postgresql://u:hunter22@h", "names no database", "write it as"),
    ],
)
def test_urls_of_no_use_are_refused_without_their_password(url: str, said: str, hint: str, tmp_path: Path) -> None:
    with pytest.raises(DatabaseError) as raised:
        Database.open(url, home=tmp_path)
    assert said in raised.value.message
    assert hint in str(raised.value.hint)
    assert "hunter22" not in f"{raised.value.message} {raised.value.hint} {raised.value.fields}"
