"""What the history is asked by: labels of runs, buckets of durations, figures of past days."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from flows.database.buckets import bucket_of
from flows.database.labels import hopped, labels_of, name_of

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
RUN_ID = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
MANY = 1000  # runs whose labels are written at once


def upgrade() -> None:
    """Add columns and tables, and fill them from the rows that are there."""
    _widen()
    _make_labels()
    _make_days()
    op.create_table(
        "caught_up",
        sa.Column("root", sa.Text, nullable=False),
        sa.Column("run_id", RUN_ID, nullable=False),
        sa.PrimaryKeyConstraint("root", name="pk_caught_up"),
    )
    _fill(op.get_bind())


def _widen() -> None:
    op.drop_index("ix_runs_created_at", "runs")
    op.add_column("runs", sa.Column("prompt", sa.Text, nullable=False, server_default=""))
    op.add_column("runs", sa.Column("last_model", sa.Text))
    op.add_column("runs", sa.Column("hopped", sa.Boolean, nullable=False, server_default=sa.false()))
    op.add_column("runs", sa.Column("took", sa.Integer))
    op.add_column("attempts", sa.Column("asked", sa.Text))
    op.add_column("attempts", sa.Column("took", sa.Integer))
    op.add_column("attempts", sa.Column("waited", sa.Integer))
    if op.get_bind().dialect.name == "postgresql":
        op.drop_constraint("fk_attempts_run_id", "attempts", type_="foreignkey")
        for table in ("runs", "attempts"):
            op.alter_column(table, "run_id", type_=RUN_ID)
        op.create_foreign_key("fk_attempts_run_id", "attempts", "runs", ["run_id"], ["run_id"], ondelete="CASCADE")


def _make_labels() -> None:
    op.create_table(
        "labels",
        sa.Column("id", NUMBER, sa.Identity(), nullable=False),
        sa.Column("what", sa.Text, nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_labels"),
        sa.UniqueConstraint("what", "value", name="uq_labels_what_value"),
    )
    op.create_table(
        "run_labels",
        sa.Column("label_id", NUMBER, nullable=False),
        sa.Column("run_id", RUN_ID, nullable=False),
        sa.PrimaryKeyConstraint("label_id", "run_id", name="pk_run_labels"),
        sqlite_with_rowid=False,
    )


def _make_days() -> None:
    op.create_table(
        "days",
        sa.Column("id", NUMBER, sa.Identity(), nullable=False),
        sa.Column("zone", sa.Text, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("begins", sa.Double, nullable=False),
        sa.Column("ends", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_days"),
        sa.UniqueConstraint("zone", "number", name="uq_days_zone_number"),
    )
    op.create_index("ix_days_ends", "days", ["ends"])
    used = ("input", "output", "cache_read", "cache_write")
    _of_day("day_outcomes", ("status", "kind"), ("runs", "hopped", "unpriced"), used)
    _of_day("day_models", ("model", "status", "kind"), ("attempts", "unpriced"), used)
    _of_day("day_hops", ("source", "target", "kind"), ("runs",))
    _of_day("day_times", ("what", "model"), (), last=("counted",))


def _of_day(
    table: str,
    texts: tuple[str, ...],
    counts: tuple[str, ...],
    used: tuple[str, ...] = (),
    *,
    last: tuple[str, ...] = (),
) -> None:
    cost = [sa.Column("cost_usd", sa.Double)] if used else []
    op.create_table(
        table,
        sa.Column("day_id", NUMBER, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in texts),
        *(sa.Column(name, sa.Integer, nullable=False) for name in counts),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in used),
        *cost,
        *(sa.Column(name, sa.Text, nullable=False) for name in last),
        sa.PrimaryKeyConstraint("day_id", *texts, name=f"pk_{table}"),
        sa.ForeignKeyConstraint(["day_id"], ["days.id"], name=f"fk_{table}_day_id", ondelete="CASCADE"),
    )


def _fill(connection: sa.Connection) -> None:
    r, a, label, of_run = (_table(connection, name) for name in ("runs", "attempts", "labels", "run_labels"))
    known: dict[tuple[str, str], int] = {}
    last = ""
    while (
        rows := connection.execute(sa.select(r).where(r.c.run_id > last).order_by(r.c.run_id).limit(MANY))
        .mappings()
        .all()
    ):
        first, last = rows[0]["run_id"], rows[-1]["run_id"]
        steps = sa.select(a).where(a.c.run_id.between(first, last)).order_by(a.c.run_id, a.c.n)
        found = map(dict, connection.execute(steps).mappings())
        attempts = {of: list(those) for of, those in groupby(found, lambda step: step["run_id"])}
        changed = [_run(dict(row), attempts.get(row["run_id"], ())) for row in rows]
        connection.execute(_change(r, ["last_model", "hopped", "took"], ["run_id"]), changed)
        if many := [_attempt(step) for those in attempts.values() for step in those]:
            connection.execute(_change(a, ["asked", "took", "waited"], ["run_id", "n"]), many)
        pairs = []
        for row, new in zip(rows, changed, strict=True):
            whole = {**row, "hopped": new["b_hopped"]}
            for one in sorted(labels_of(whole, attempts.get(row["run_id"], ()))):
                if one not in known:
                    made = label.insert().values(what=one[0], value=one[1]).returning(label.c.id)
                    known[one] = connection.execute(made).scalar_one()
                pairs.append({"label_id": known[one], "run_id": row["run_id"]})
        if pairs:
            connection.execute(of_run.insert(), pairs)


def _table(connection: sa.Connection, name: str) -> sa.TableClause:
    """A table with columns of no type: one with a collation would be compared with a parameter that has none."""
    found = sa.inspect(connection).get_columns(name)
    return sa.table(name, *(sa.column(column["name"]) for column in found))


def _change(table: sa.TableClause, names: list[str], by: list[str]) -> sa.Update:
    these = (table.c[name] == sa.bindparam(f"b_{name}") for name in by)
    return sa.update(table).where(*these).values({name: sa.bindparam(f"b_{name}") for name in names})


def _run(row: dict[str, Any], attempts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return _bound(
        run_id=row["run_id"],
        last_model=attempts[-1]["model"] if attempts else None,
        hopped=hopped(row["status"], row["first_model"], row["answered_by"]),
        took=_bucket(row["created_at"], row["ended_at"]),
    )


def _attempt(row: dict[str, Any]) -> dict[str, Any]:
    return _bound(
        run_id=row["run_id"],
        n=row["n"],
        asked=name_of(row["model"]),
        took=_bucket(row["started_at"], row["ended_at"]),
        waited=_bucket(row["started_at"], row["first_token_at"]),
    )


def _bound(**values: Any) -> dict[str, Any]:
    return {f"b_{name}": value for name, value in values.items()}


def _bucket(begin: float, end: float | None) -> int | None:
    return None if end is None else bucket_of(end - begin)
