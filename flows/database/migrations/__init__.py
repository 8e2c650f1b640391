"""Migrations of the tables, by Alembic. Never change one that has been released: add another, and raise
``flows.database.schema.HEAD``."""
