"""Recorded runs as a table. All parts are cleaned."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import IO

from atomic.errors import AtomicError
from atomic.record import RunStore
from atomic.record.owner import OwnerState, state_of
from atomic.text import Masker, one_line
from flows.cli.figures import clock, duration, money
from flows.cli.output import CYAN, GREEN, RED, page
from flows.cli.tables import Cell, Column, table
from flows.history import RunRow

COLUMNS = (
    Column("run"),
    Column("when", rank=3),  # the id begins with it, in UTC
    Column("came to"),
    Column("att", right=True, rank=2),
    Column("took", right=True, rank=1),
    Column("cost", right=True),
    Column("model", least=20, cut="middle", fold=True),
    Column("what", least=16, fold=True),
)
STYLES = {"answered": GREEN, "running": CYAN}  # everything else is a kind of failure
CELL = 48  # characters of a cell that holds other people's words


@dataclass(frozen=True, slots=True)
class Row:
    """A run's cells, in the order of COLUMNS."""

    cells: tuple[Cell, ...]


def row_of(run: RunRow, store: RunStore, masker: Masker) -> Row:
    """The row of a run. Where it has no name, the first words of its prompt tell what it was."""
    model = run.answered_by or run.last_model
    took = "" if run.seconds is None else duration(run.seconds)
    outcome = _outcome(run, store)
    return Row(
        (
            run.run_id,
            clock(run.created_at),
            (outcome, STYLES.get(outcome, RED)),
            str(run.attempts),
            took,
            "?" if run.cost_usd is None else money(run.cost_usd),
            one_line(model or "–", CELL),
            one_line(masker(run.name or run.prompt), CELL),
        )
    )


def show_table(rows: list[Row], stream: IO[str]) -> None:
    """The table on stdout."""
    page(table(COLUMNS, [row.cells for row in rows], stream))


def _outcome(run: RunRow, store: RunStore) -> str:
    if run.status == "failed":
        return run.kind or "failed"
    if run.status == "running":
        with contextlib.suppress(AtomicError):  # the record of another machine, or one that is gone
            owner = store.read(run.run_id).owner
            if owner is not None and state_of(owner) is OwnerState.DEAD:
                return "cut off"
    return run.status
