"""The shards of editions that workers of a pool carry out."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "shards",
        sa.Column("edition_id", NUMBER, nullable=False),
        sa.Column("term", sa.Integer, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("most", sa.Integer, nullable=False),
        sa.Column("taken", sa.Integer, nullable=False),
        sa.Column("heartbeat_at", sa.Double),
        sa.Column("ended_at", sa.Double),
        sa.Column("pid", sa.Integer),
        sa.Column("process_started", sa.Double),
        sa.Column("boot_id", sa.Text),
        sa.Column("host", sa.Text),
        sa.Column("user", sa.Text),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("form", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("edition_id", "term", "number", name="pk_shards"),
        sa.ForeignKeyConstraint(["edition_id"], ["editions.id"], name="fk_shards_edition_id", ondelete="CASCADE"),
    )
