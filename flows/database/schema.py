"""Bringing the tables up to date."""

from __future__ import annotations

from sqlalchemy import Connection, inspect, text

from atomic.errors import DatabaseError

HEAD = "0003"  # the newest migration: a database that has it needs no look at the others
VERSION_TABLE = "atomic_flows_version"  # not Alembic's own name, which others in the same database use
_LOCK = 0x61746F6D  # any number, the same for all: two processes that migrate at once take turns


def is_current(connection: Connection) -> bool:
    """Whether the tables are those that this version works with. Raises SQLAlchemyError where it cannot be read."""
    return _version(connection) == HEAD


def migrate(connection: Connection, place: str) -> None:
    """Bring the tables up to date within the connection's transaction. Raises DatabaseError for a schema that this
    version does not know, SQLAlchemyError where the database refuses."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    found = _version(connection)
    if found == HEAD:
        return  # another process was quicker
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", "flows.database:migrations")
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if found is not None and found not in known:
        raise DatabaseError(
            f"{place}: its tables are of a newer version of atomic-flows (schema {found}, this one knows {HEAD})",
            hint="use that version, or set another URL for the database",
            url=place,
            reason="newer",
        )
    command.upgrade(config, "head")


def _version(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    found = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()  # noqa: S608 - a constant
    return None if found is None else str(found)
