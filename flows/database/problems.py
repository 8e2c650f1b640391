"""What the database would not do, in words a person can act on."""

from __future__ import annotations

import sqlite3
from typing import Any

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from atomic.errors import DatabaseError
from atomic.text import one_line

_SQLITE_REASONS = {
    sqlite3.SQLITE_BUSY: "locked",
    sqlite3.SQLITE_LOCKED: "locked",
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_READONLY: "readonly",
    sqlite3.SQLITE_CORRUPT: "corrupt",
    sqlite3.SQLITE_NOTADB: "corrupt",
    sqlite3.SQLITE_CANTOPEN: "denied",
    sqlite3.SQLITE_PERM: "denied",
    sqlite3.SQLITE_AUTH: "denied",
}
_POSTGRES_REASONS = {  # SQLSTATE, or its first two characters
    "55P03": "locked",
    "53100": "full",
    "25006": "readonly",
    "XX001": "corrupt",
    "XX002": "corrupt",
    "42501": "denied",
    "3D000": "denied",
    "28": "denied",
    "08": "unreachable",
    "53": "unreachable",  # too many connections, out of memory
    "57": "unreachable",  # shutting down, starting up
}
_SAID = {
    "locked": "another process holds a lock on it",
    "full": "there is no space left for it",
    "readonly": "it can be read but not written",
    "corrupt": "it is damaged, or no database at all",
    "unreachable": "its server does not answer",
    "denied": "it cannot be opened",
    "failed": "it refused a statement",
}
_HINTS = {
    "locked": "wait for the other process, or end it: a shell with an open transaction, a backup, a killed editor",
    "full": "free some space there, then give the same command again: nothing that was done is lost",
    "readonly": "give this user the right to write the file and its folder, or set another URL",
    "corrupt": "`atomic-flows history rebuild` makes it anew: the records are the truth, and no "
    "answer in them is bought twice",
    "unreachable": "start the server, or look at the host, port and network in the URL",
    "denied": "look at the name, the password and the rights of the user in the URL, and at the folder of a file",
    "failed": "if it happens again, please report it with this message",
}
_CODE_BITS = 0xFF  # the primary code within SQLite's extended one


def problem(error: SQLAlchemyError, place: str) -> DatabaseError:
    """The error that names the database, what is wrong with it, and what helps. ``place`` holds no secrets."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    reason = _reason(cause)
    said = one_line(str(cause))
    return DatabaseError(f"{place}: {_SAID[reason]} ({said})", hint=_HINTS[reason], url=place, reason=reason)


def _reason(cause: Any) -> str:
    code = getattr(cause, "sqlite_errorcode", None)
    if code is not None:
        return _SQLITE_REASONS.get(code & _CODE_BITS, "failed")
    state = getattr(cause, "sqlstate", None)
    if state:
        return _POSTGRES_REASONS.get(state) or _POSTGRES_REASONS.get(state[:2], "failed")
    # psycopg has no state for a server it never reached, or lost on the way; authentication says so in words only.
    if type(cause).__name__ in ("OperationalError", "ConnectionTimeout") and hasattr(cause, "pgconn"):
        text = str(cause)
        denied = ("authentication failed", "does not exist", "no pg_hba.conf", "no password")
        return "denied" if any(words in text for words in denied) else "unreachable"
    return "failed"
