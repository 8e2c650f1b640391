"""The tables: what the newest migration leaves. Times are seconds since the epoch, in doubles."""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Double,
    ForeignKey,
    Identity,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    false,
)
from sqlalchemy.dialects import postgresql

# What one database or the other refuses in a text: NUL, and halves of surrogate pairs.
_REFUSED = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """The text with U+FFFD for what no database stores."""
    return text if text.isascii() and "\0" not in text else _REFUSED.sub("\ufffd", text)


class Words(TypeDecorator[str]):
    """Text from anywhere, made storable."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - its signature
        return None if value is None else storable(value)


# Ids are compared by their bytes: the order of a server's language is slower, and not by time in every language.
RunId = Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
Number = BigInteger().with_variant(Integer(), "sqlite")  # only an INTEGER is an alias of SQLite's row id

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _owner(prefix: str = "") -> list[Column[Any]]:
    """Columns of an owner, as in :class:`atomic.record.Owner`."""
    return [
        Column(f"{prefix}pid", Integer),
        Column(f"{prefix}process_started", Double),
        Column(f"{prefix}boot_id", Text),
        Column(f"{prefix}host", Words),
        Column(f"{prefix}user", Words),
    ]


batches = Table(
    "batches",
    metadata,
    Column("id", Number, Identity(), primary_key=True),
    Column("name", Words, nullable=False, unique=True),
    Column("created_at", Double, nullable=False),
    Column("host", Words, nullable=False),  # where it was first begun, and by whom
    Column("user", Words, nullable=False),
)

editions = Table(
    "editions",
    metadata,
    Column("id", Number, Identity(), primary_key=True),
    Column("batch_id", Number, ForeignKey("batches.id", ondelete="CASCADE"), nullable=False),
    Column("name", Words, nullable=False),
    Column("status", Text, nullable=False),  # running | stopped | finished | skipped
    Column("reason", Words, nullable=False),  # why it stopped, or was skipped
    Column("term", Integer, nullable=False),  # raised whenever somebody begins it: what an older term writes is refused
    Column("control", Text, nullable=False),  # run | pause | drain | stop
    Column("control_by", Words),
    Column("input", Words, nullable=False),
    Column("fingerprint", Words, nullable=False),  # of all that its items were last loaded from, when they all were
    Column("output", Words, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("begun_at", Double, nullable=False),  # this term
    Column("heartbeat_at", Double, nullable=False),  # by the database's clock
    Column("ended_at", Double),
    *_owner(),
    UniqueConstraint("batch_id", "name"),
)

items = Table(
    "items",
    metadata,
    Column("id", Number, Identity(), primary_key=True),
    Column("edition_id", Number, ForeignKey("editions.id", ondelete="CASCADE"), nullable=False),
    Column("position", Integer, nullable=False),  # in the input, from 0
    Column("custom_id", Words, nullable=False),
    Column("digest", Text, nullable=False),
    Column("state", Text, nullable=False),  # pending | running | parked | answered | failed
    Column("round", Integer, nullable=False),  # raised by a redo: part of the run's key
    Column("term", Integer, nullable=False),  # of the edition, when it was last claimed; 0: never
    Column("held", Boolean, nullable=False),  # pending, but not to be claimed again in that term
    Column("shard", Integer),
    Column("claims", Integer, nullable=False),
    Column("parked_until", Double),
    Column("changed_at", Double, nullable=False),
    Column("run_id", Text),
    Column("kind", Text),
    Column("source", Words, nullable=False),  # what the claimer needs to carry it out; last, as they may be long
    Column("result", Words),  # the line of the results file
    UniqueConstraint("edition_id", "custom_id"),
    Index(None, "edition_id", "state", "position"),
)
parked_index = Index(
    "ix_items_edition_id_parked_until",
    items.c.edition_id,
    items.c.parked_until,
    sqlite_where=items.c.parked_until.is_not(None),
    postgresql_where=items.c.parked_until.is_not(None),
)

shards = Table(  # those that workers of a pool carry out
    "shards",
    metadata,
    Column("edition_id", Number, ForeignKey("editions.id", ondelete="CASCADE"), primary_key=True),
    Column("term", Integer, primary_key=True),  # of the edition, as it was when the shard was opened
    Column("number", Integer, primary_key=True),  # from 1, in that term
    Column("most", Integer, nullable=False),  # items that it may take
    Column("taken", Integer, nullable=False),  # items that it has claimed so far
    Column("heartbeat_at", Double),  # by the database's clock; null until a worker has taken it up
    Column("ended_at", Double),  # from then on whatever it writes is refused
    *_owner(),
    Column("reason", Words, nullable=False),  # why it ended before its time
    Column("form", Words, nullable=False),  # JSON: how its items are carried out; empty when it has ended
)

cooldowns = Table(
    "cooldowns",
    metadata,
    Column("key", Words, primary_key=True),  # of atomic.policy.cooldowns
    Column("until", Double, nullable=False),
    Column("kind", Text),
    Column("reason", Words, nullable=False),
    Column("noted_at", Double, nullable=False),
    Column("host", Words, nullable=False),
    Column("user", Words, nullable=False),
)


def _usage() -> list[Column[Any]]:
    """Columns of tokens and dollars; the cost is null where nobody knows it."""
    tokens = [Column(name, BigInteger, nullable=False) for name in ("input", "output", "cache_read", "cache_write")]
    return [*tokens, Column("cost_usd", Double)]


runs = Table(
    "runs",
    metadata,
    Column("run_id", RunId, primary_key=True),  # ids sort by time: this is the order of every listing
    Column("name", Words),
    Column("key", Words),
    Column("batch", Words),
    Column("edition", Words),
    Column("custom_id", Words),
    Column("status", Text, nullable=False),
    Column("kind", Text),
    Column("message", Words, nullable=False),
    Column("first_model", Words),
    Column("answered_by", Words),
    Column("policy_digest", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("ended_at", Double),
    *_usage(),
    Column("tags", Words, nullable=False),  # JSON
    Column("metadata", Words, nullable=False),  # JSON
    Column("warnings", Words, nullable=False),  # JSON
    Column("cwd", Words, nullable=False),
    Column("record", Words, nullable=False),  # folder or URL of its files
    Column("flow_run_id", Text),
    Column("host", Words),
    Column("user", Words),
    Column("prompt", Words, nullable=False, server_default=""),  # its beginning, for listings and for looking for words
    Column("last_model", Words),  # the one asked last
    Column("hopped", Boolean, nullable=False, server_default=false()),  # answered by another than the first model
    Column("took", Integer),  # bucket of its seconds: see flows.database.buckets
    Index(None, "batch", "edition"),
)

attempts = Table(
    "attempts",
    metadata,
    Column("run_id", RunId, ForeignKey("runs.run_id", ondelete="CASCADE"), primary_key=True),
    Column("n", Integer, primary_key=True, autoincrement=False),
    Column("model", Words),
    Column("status", Text),
    Column("kind", Text),
    Column("message", Words, nullable=False),
    Column("answered_by", Words),
    Column("carry", Boolean, nullable=False),
    Column("retry_at", Double),
    Column("record", Words, nullable=False),  # its folder, relative to the run's
    Column("started_at", Double, nullable=False),
    Column("ended_at", Double),
    Column("first_event_at", Double),
    Column("first_token_at", Double),
    Column("exit_code", Integer),
    Column("turns", Integer, nullable=False),
    Column("tool_calls", Integer, nullable=False),
    Column("failed_tool_calls", Integer, nullable=False),
    Column("retries", Integer, nullable=False),
    Column("compactions", Integer, nullable=False),
    *_usage(),
    Column("asked", Words),  # the model without its level
    Column("took", Integer),  # buckets of the seconds to its end …
    Column("waited", Integer),  # … and to its first token
)

# By what runs are found: one row for everything that a run can be filtered by, and one for each run that has it. The
# runs of a label come in the order of their ids, so that a page of any filter reads little more than it shows.
labels = Table(
    "labels",
    metadata,
    Column("id", Number, Identity(), primary_key=True),
    Column("what", Text, nullable=False),  # of flows.database.labels
    Column("value", Words, nullable=False),
    UniqueConstraint("what", "value"),
)

run_labels = Table(
    "run_labels",
    metadata,
    Column("label_id", Number, primary_key=True, autoincrement=False),
    Column("run_id", RunId, primary_key=True),
    sqlite_with_rowid=False,
)

# Up to which run the records of a place have been looked through for runs that the database does not have.
caught_up = Table(
    "caught_up",
    metadata,
    Column("root", Words, primary_key=True),
    Column("run_id", RunId, nullable=False),
)

# What the runs of a past day came to, by the days of one time zone. Made when it is asked for, dropped when a run of
# that day is written: whatever is here is what the rows say.
days = Table(
    "days",
    metadata,
    Column("id", Number, Identity(), primary_key=True),
    Column("zone", Text, nullable=False),
    Column("number", Integer, nullable=False),  # days from 1970-01-01
    Column("begins", Double, nullable=False),
    Column("ends", Double, nullable=False),
    UniqueConstraint("zone", "number"),
    Index(None, "ends"),
)


def _of_day(*names: str) -> list[Column[Any]]:
    """The day, and what is told apart on it; an empty text where nothing is known."""
    day = Column("day_id", Number, ForeignKey("days.id", ondelete="CASCADE"), primary_key=True, autoincrement=False)
    return [day, *(Column(name, Words, primary_key=True) for name in names)]


day_outcomes = Table(
    "day_outcomes",
    metadata,
    *_of_day("status", "kind"),
    Column("runs", Integer, nullable=False),
    Column("hopped", Integer, nullable=False),
    Column("unpriced", Integer, nullable=False),
    *_usage(),
)

day_models = Table(
    "day_models",
    metadata,
    *_of_day("model", "status", "kind"),
    Column("attempts", Integer, nullable=False),
    Column("unpriced", Integer, nullable=False),
    *_usage(),
)

day_hops = Table(
    "day_hops",
    metadata,
    *_of_day("source", "target", "kind"),
    Column("runs", Integer, nullable=False),
)

day_times = Table(
    "day_times",
    metadata,
    *_of_day("what", "model"),  # what: run | attempt | token
    Column("counted", Text, nullable=False),  # JSON: by bucket, how many; a row for each would be fifty times as many
)
