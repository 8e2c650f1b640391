"""What Alembic runs: the migrations, on the connection and within the transaction of whoever asked for them."""

from __future__ import annotations

from alembic import context

from flows.database.schema import VERSION_TABLE
from flows.database.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=True,  # SQLite's too: all of a migration or nothing
)
context.run_migrations()
