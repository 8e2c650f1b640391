"""The first tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables."""
    _make_batches()
    _make_runs()


def _texts(*names: str, nullable: bool = False) -> Iterator[sa.Column[Any]]:
    return (sa.Column(name, sa.Text, nullable=nullable) for name in names)


def _numbers(kind: type[sa.types.TypeEngine[Any]], *names: str, nullable: bool = False) -> Iterator[sa.Column[Any]]:
    return (sa.Column(name, kind, nullable=nullable) for name in names)


def _id() -> sa.Column[Any]:
    return sa.Column("id", NUMBER, sa.Identity(), nullable=False)


def _make_batches() -> None:
    op.create_table(
        "batches",
        _id(),
        *_texts("name"),
        *_numbers(sa.Double, "created_at"),
        *_texts("host", "user"),
        sa.PrimaryKeyConstraint("id", name="pk_batches"),
        sa.UniqueConstraint("name", name="uq_batches_name"),
    )
    op.create_table(
        "editions",
        _id(),
        sa.Column("batch_id", NUMBER, nullable=False),
        *_texts("name", "status", "reason"),
        *_numbers(sa.Integer, "term"),
        *_texts("control"),
        *_texts("control_by", nullable=True),
        *_texts("input", "fingerprint", "output"),
        *_numbers(sa.Double, "created_at", "begun_at", "heartbeat_at"),
        *_numbers(sa.Double, "ended_at", nullable=True),
        *_numbers(sa.Integer, "pid", nullable=True),
        *_numbers(sa.Double, "process_started", nullable=True),
        *_texts("boot_id", "host", "user", nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_editions"),
        sa.ForeignKeyConstraint(["batch_id"], ["batches.id"], name="fk_editions_batch_id", ondelete="CASCADE"),
        sa.UniqueConstraint("batch_id", "name", name="uq_editions_batch_id_name"),
    )
    op.create_table(
        "items",
        _id(),
        sa.Column("edition_id", NUMBER, nullable=False),
        *_numbers(sa.Integer, "position"),
        *_texts("custom_id", "digest", "state"),
        *_numbers(sa.Integer, "round", "term"),
        *_numbers(sa.Boolean, "held"),
        *_numbers(sa.Integer, "shard", nullable=True),
        *_numbers(sa.Integer, "claims"),
        *_numbers(sa.Double, "parked_until", nullable=True),
        *_numbers(sa.Double, "changed_at"),
        *_texts("run_id", "kind", nullable=True),
        *_texts("source"),
        *_texts("result", nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_items"),
        sa.ForeignKeyConstraint(["edition_id"], ["editions.id"], name="fk_items_edition_id", ondelete="CASCADE"),
        sa.UniqueConstraint("edition_id", "custom_id", name="uq_items_edition_id_custom_id"),
    )
    op.create_index("ix_items_edition_id_state_position", "items", ["edition_id", "state", "position"])
    parked = sa.text("parked_until IS NOT NULL")
    op.create_index(
        "ix_items_edition_id_parked_until",
        "items",
        ["edition_id", "parked_until"],
        sqlite_where=parked,
        postgresql_where=parked,
    )
    op.create_table(
        "cooldowns",
        *_texts("key"),
        *_numbers(sa.Double, "until"),
        *_texts("kind", nullable=True),
        *_texts("reason"),
        *_numbers(sa.Double, "noted_at"),
        *_texts("host", "user"),
        sa.PrimaryKeyConstraint("key", name="pk_cooldowns"),
    )


def _make_runs() -> None:
    op.create_table(
        "runs",
        *_texts("run_id"),
        *_texts("name", "key", "batch", "edition", "custom_id", nullable=True),
        *_texts("status"),
        *_texts("kind", nullable=True),
        *_texts("message"),
        *_texts("first_model", "answered_by", nullable=True),
        *_texts("policy_digest"),
        *_numbers(sa.Integer, "attempts"),
        *_numbers(sa.Double, "created_at"),
        *_numbers(sa.Double, "ended_at", nullable=True),
        *_numbers(sa.BigInteger, "input", "output", "cache_read", "cache_write"),
        *_numbers(sa.Double, "cost_usd", nullable=True),
        *_texts("tags", "metadata", "warnings", "cwd", "record"),
        *_texts("flow_run_id", "host", "user", nullable=True),
        sa.PrimaryKeyConstraint("run_id", name="pk_runs"),
    )
    op.create_index("ix_runs_created_at", "runs", ["created_at"])
    op.create_index("ix_runs_batch_edition", "runs", ["batch", "edition"])
    op.create_table(
        "attempts",
        *_texts("run_id"),
        *_numbers(sa.Integer, "n"),
        *_texts("model", "status", "kind", nullable=True),
        *_texts("message"),
        *_texts("answered_by", nullable=True),
        *_numbers(sa.Boolean, "carry"),
        *_numbers(sa.Double, "retry_at", nullable=True),
        *_texts("record"),
        *_numbers(sa.Double, "started_at"),
        *_numbers(sa.Double, "ended_at", "first_event_at", "first_token_at", nullable=True),
        *_numbers(sa.Integer, "exit_code", nullable=True),
        *_numbers(sa.Integer, "turns", "tool_calls", "failed_tool_calls", "retries", "compactions"),
        *_numbers(sa.BigInteger, "input", "output", "cache_read", "cache_write"),
        *_numbers(sa.Double, "cost_usd", nullable=True),
        sa.PrimaryKeyConstraint("run_id", "n", name="pk_attempts"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"], name="fk_attempts_run_id", ondelete="CASCADE"),
    )
