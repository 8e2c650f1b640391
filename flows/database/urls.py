"""Where the database is: its URL, read and made fit for showing."""

from __future__ import annotations

import difflib
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from atomic.errors import DatabaseError
from atomic.text import MASK, is_secret_name

FILE_NAME = "history.db"  # in the home, where no URL is given
SQLITE = "sqlite+pysqlite"
POSTGRES = "postgresql+psycopg"
# What people write, and other tools' configuration holds, for the two.
_DRIVERS = {
    "sqlite": SQLITE,
    "sqlite+pysqlite": SQLITE,
    "sqlite+aiosqlite": SQLITE,
    "postgres": POSTGRES,
    "postgresql": POSTGRES,
    "postgresql+psycopg": POSTGRES,
    "postgresql+psycopg2": POSTGRES,
    "postgresql+asyncpg": POSTGRES,
}
_FORMS = "sqlite:////folder/history.db or postgresql://user@host/database"


def read_url(text: str | None, home: Path) -> URL:
    """The URL of the database with the driver that is used; None: the file in the home. Raises DatabaseError for what
    names no database of the two kinds; its message holds no password."""
    if text is None:
        return URL.create(SQLITE, database=str(home / FILE_NAME))
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise _unfit("the database's URL cannot be read", f"write it as {_FORMS}", "") from None
    driver = _DRIVERS.get(url.drivername)
    if driver is None:
        near = difflib.get_close_matches(url.drivername, _DRIVERS, 1)
        hint = f"did you mean {near[0]}://? Use {_FORMS}" if near else f"use {_FORMS}"
        raise _unfit(f"{url.drivername}:// is no database that can be used", hint, masked(url))
    url = url.set(drivername=driver)
    if driver == SQLITE and (not url.database or url.database == ":memory:" or "mode=memory" in text):
        raise _unfit("a database in memory is nobody else's, and gone at the end", f"use {_FORMS}", masked(url))
    if driver == POSTGRES and not url.database:
        raise _unfit("the URL names no database on that server", f"write it as {_FORMS}", masked(url))
    return url


def _unfit(message: str, hint: str, url: str) -> DatabaseError:
    return DatabaseError(message, hint=hint, url=url, reason="url")


def sqlite_file(url: URL) -> Path | None:
    """The file of an SQLite URL, absolute; None for a server, and for one of SQLite's own `file:` names."""
    if not url.drivername.startswith("sqlite") or not url.database or url.database.startswith("file:"):
        return None
    return Path(url.database).expanduser().absolute()


def masked(url: URL) -> str:
    """How messages name the database: the path of a file, the URL of a server without its secrets."""
    path = sqlite_file(url)
    if path is not None:
        return str(path)
    hidden = {name: MASK for name in url.query if is_secret_name(name)}
    backend = url.get_backend_name()
    shown = url.set(drivername=backend).update_query_dict(hidden).render_as_string(hide_password=True)
    return shown.replace("***", MASK)
