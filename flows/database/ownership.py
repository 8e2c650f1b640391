"""Who may carry an edition out: judged by process where that can be seen, else by heartbeat."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Double, FunctionElement, Row
from sqlalchemy.ext.compiler import compiles

from atomic.processes import boot_id
from atomic.record import Owner
from atomic.record.owner import OwnerState, state_of
from atomic.text import one_line

HEARTBEAT_EVERY = 1.0  # seconds between heartbeats: a control is noticed within two
HEARTBEAT_LIMIT = 90.0  # seconds; a machine that swaps or a server that starts anew is silent for less
OWNER = ("pid", "process_started", "boot_id", "host", "user")


class epoch_now(FunctionElement[float]):  # noqa: N801 - a function in SQL
    """Seconds since the epoch by the database's clock, which all owners share."""

    type = Double()
    inherit_cache = True


@compiles(epoch_now, "sqlite")
def _sqlite_now(*_: Any, **__: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(epoch_now, "postgresql")
def _postgres_now(*_: Any, **__: Any) -> str:
    return "EXTRACT(EPOCH FROM clock_timestamp())::double precision"


def owner_of(row: Row[*tuple[Any, ...]]) -> Owner | None:
    """The owner that a row of editions names; None where nobody carries it out."""
    found = {name: getattr(row, name) for name in OWNER}
    return None if found["pid"] is None else Owner(**found)


def is_gone(owner: Owner, *, silence: float) -> bool:
    """Whether an owner is known to be dead. ``silence``: seconds since its heartbeat, by the database's clock.

    A process of this boot is looked for. Of any other (another machine, another container, or this machine before it
    started anew: their names may be the same) only the heartbeat tells; one from the future tells of a clock set back.
    """
    if owner.boot_id == boot_id() and (state := state_of(owner)) is not OwnerState.ELSEWHERE:
        return state is OwnerState.DEAD
    return abs(silence) > HEARTBEAT_LIMIT


def in_words(owner: Owner) -> str:
    """An owner as messages name it."""
    return one_line(f"process {owner.pid} of {owner.user or 'nobody known'} on {owner.host}")
