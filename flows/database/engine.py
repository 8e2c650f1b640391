"""The database of batches and history: SQLite in WAL mode, or Postgres; one set of statements for both.

It is worked with synchronously: SQLite is synchronous in any dress, migrations are too, and functions that are one
transaction each are easiest to get right so. ``Database.apart`` carries them out in the database's own thread, in
order, so that the event loop never waits for a lock or a disk.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import ARRAY, URL, ColumnElement, Connection, Engine, Table, any_, create_engine, event, literal
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DisconnectionError, NoSuchModuleError, SQLAlchemyError

from atomic.errors import DatabaseError
from atomic.record.files import create_file, make_folder, place_error
from flows.database.problems import problem
from flows.database.schema import is_current, migrate
from flows.database.urls import masked, read_url, sqlite_file

PATIENCE = 30.0  # seconds to wait for another process's lock, or for a server to answer; no transaction takes one
_READING = "reading"  # execution option of a connection that only reads
_FILE = "file"  # in what the pool knows of a connection
_OLDEST_SQLITE = (3, 35)  # knows RETURNING
_P = ParamSpec("_P")
_T = TypeVar("_T")


class Database:
    """An open database. Functions of this package take it first; each is one transaction."""

    def __init__(self, engine: Engine, place: str) -> None:
        self.engine = engine
        self.place = place  # for messages: the file, or the URL without secrets
        self._file: tuple[Path, os.stat_result] | None = None  # SQLite's, where no other may take its place
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="database")

    @classmethod
    def open(cls, url: str | None = None, *, home: Path, patience: float = PATIENCE, moving: bool = False) -> Database:
        """Open the database, make it where there is none, and bring its tables up to date; None: the file in ``home``.
        ``patience`` is in seconds. With ``moving`` a file that takes this one's place, as a rebuilt history does, is
        written to as well: not for those who carry an edition out. Raises DatabaseError, PlaceError."""
        where = read_url(url, home)
        path = sqlite_file(where)
        if path is not None:
            _make_private(path)
            where = where.set(database=str(path))
        database = cls(_engine(where, patience), masked(where))
        try:
            with database.reading() as connection:
                ready = is_current(connection)
            if not ready:
                with database.writing() as connection:
                    migrate(connection, database.place)
            if path is not None and not moving:
                database._file = path, path.stat()
        except BaseException:
            database.close()
            raise
        return database

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that may write. On SQLite it is the only one from its beginning. Raises DatabaseError."""
        if self._file is not None:
            _require_there(*self._file)
        with self._transaction(self.engine) as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that only reads, and hinders nobody. Raises DatabaseError."""
        with self._transaction(self.engine.execution_options(**{_READING: True})) as connection:
            yield connection

    @contextmanager
    def _transaction(self, engine: Engine) -> Iterator[Connection]:
        try:
            with engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise problem(error, self.place) from error

    def insert(self, table: Table) -> sqlite.Insert | postgresql.Insert:
        """An INSERT that knows ON CONFLICT, in this database's dialect."""
        return sqlite.insert(table) if self.engine.dialect.name == "sqlite" else postgresql.insert(table)

    def among(self, column: ColumnElement[str], values: Sequence[str]) -> ColumnElement[bool]:
        """Whether the column's value is one of many. Postgres looks up an array by index; a list of thousands of
        parameters it compares one by one."""
        if self.engine.dialect.name == "sqlite":
            return column.in_(values)
        return column == any_(literal(list(values), ARRAY(column.type)))

    async def apart(self, function: Callable[Concatenate[Database, _P], _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """``function(database, …)`` in the database's own thread. A cancel does not undo what it does: it is carried
        out all the same."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, lambda: function(self, *args, **kwargs))

    def close(self) -> None:
        """Wait for what is on its way, and let the database go."""
        self._thread.shutdown(wait=True)
        self.engine.dispose()


def _make_private(path: Path) -> None:
    """Make the file, readable by its owner only, before SQLite does; its -wal and -shm files follow it."""
    make_folder(path.parent)
    if not path.exists():
        try:
            os.close(create_file(path))
        except OSError as error:
            raise place_error(error, path, "make the database") from error


def _require_there(path: Path, opened: os.stat_result) -> None:
    """What is written to a file that was removed goes on being taken, and is gone with the last process that has it
    open. Raises DatabaseError."""
    try:
        if os.path.samestat(path.stat(), opened):
            return
    except OSError:
        pass
    raise DatabaseError(
        f"{path}: it was removed or replaced while it was in use",
        hint="if it is lost, `atomic-flows history rebuild` makes it anew from the records, and no answer in them is "
        "bought twice; what had it open is to be started again",
        url=str(path),
        reason="removed",
    )


def _engine(url: URL, patience: float) -> Engine:
    place = masked(url)
    try:
        if url.drivername.startswith("sqlite"):
            return _sqlite_engine(url, place, patience)
        return create_engine(
            url,
            pool_pre_ping=True,  # a server that was started anew meanwhile is reached again
            connect_args={
                "connect_timeout": max(2, round(patience)),  # libpq takes whole seconds, and 1 for 2
                "application_name": "atomic-flows",
                "options": f"-c lock_timeout={round(patience * 1000)}",
            },
        )
    except (ImportError, NoSuchModuleError) as error:
        raise DatabaseError(
            f"{place}: the driver for Postgres is not installed",
            hint="pip install 'atomic-flows[postgres]'",
            url=place,
            reason="driver",
        ) from error


def _sqlite_engine(url: URL, place: str, patience: float) -> Engine:
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        raise DatabaseError(
            f"{place}: this Python's SQLite is {sqlite3.sqlite_version}; 3.35 is the oldest that can be used",
            hint="use a newer Python, or a Postgres URL",
            url=place,
            reason="driver",
        )
    engine = create_engine(url, connect_args={"timeout": patience})
    if (path := sqlite_file(url)) is not None:
        _follow(engine, path)
    event.listen(engine, "connect", _set_up)
    event.listen(engine, "begin", _begin)
    return engine


def _follow(engine: Engine, path: Path) -> None:
    """Let no connection outlive its file: a history that was rebuilt has taken the old one's place."""

    def note(_dialect: Any, record: Any, _args: Any, _kwargs: Any) -> None:
        record.info[_FILE] = _identity(path)  # before it is opened: one that is replaced meanwhile is opened again

    def compare(_connection: Any, record: Any, _proxy: Any) -> None:
        now = _identity(path)
        if now is not None and now != record.info[_FILE]:
            raise DisconnectionError("its file was replaced")  # to the pool, which opens another

    event.listen(engine, "do_connect", note)
    event.listen(engine, "checkout", compare)


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file that is; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _set_up(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions begin where _begin says, not where the driver guesses
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode = WAL")  # readers and the writer do not wait for each other
    cursor.execute("PRAGMA synchronous = NORMAL")  # a power cut may take the last transactions, the records have them
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _begin(connection: Connection) -> None:
    # A writer that takes its lock at once waits for its turn; one that takes it later can find that it must fail.
    reading = connection.get_execution_options().get(_READING)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")
