"""Recorded runs as a table. All parts are cleaned."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import IO

from atomic.record import RunRecord, RunStore
from atomic.record.layout import PROMPT_FILE, run_path
from atomic.record.owner import OwnerState, state_of
from atomic.regular import open_regular
from atomic.text import Masker, one_line
from flows.cli.figures import clock, duration, money
from flows.cli.output import CYAN, GREEN, RED, page
from flows.cli.tables import Cell, Column, table

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
PROMPT_HEAD = 200  # bytes of a prompt that are read for its first words


@dataclass(frozen=True, slots=True)
class Row:
    """A run's cells, in the order of COLUMNS."""

    cells: tuple[Cell, ...]


def row_of(run: RunRecord, store: RunStore, masker: Masker) -> Row:
    """The row of a run. Where it has no name, the first words of its prompt tell what it was, if they are at hand."""
    last = run.attempts[-1] if run.attempts else None
    model = run.answered_by or (last.model if last else None)
    took = "" if run.ended_at is None else duration(run.ended_at - run.created_at)
    outcome = _outcome(run)
    return Row(
        (
            run.run_id,
            clock(run.created_at),
            (outcome, STYLES.get(outcome, RED)),
            str(len(run.attempts)),
            took,
            "?" if run.cost_usd is None else money(run.cost_usd),
            one_line(model or "–", CELL),
            one_line(masker(run.name or _first_words(run, store)), CELL),
        )
    )


def show_table(rows: list[Row], stream: IO[str]) -> None:
    """The table on stdout."""
    page(table(COLUMNS, [row.cells for row in rows], stream))


def _outcome(run: RunRecord) -> str:
    if run.ended:
        return "answered" if run.status == "answered" else str(run.kind)
    cut_off = run.owner is not None and state_of(run.owner) is OwnerState.DEAD
    return "cut off" if cut_off else "running"


def _first_words(run: RunRecord, store: RunStore) -> str:
    path = store.spool / run_path(run.run_id) / PROMPT_FILE
    with contextlib.suppress(OSError), open_regular(path) as prompt:
        return prompt.read(PROMPT_HEAD).decode("utf-8", "ignore")
    return ""
