"""Recorded runs as a table: Rich's on a terminal, columns of plain text elsewhere. All parts are cleaned."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import IO, Literal

from atomic.record import RunRecord, RunStore
from atomic.record.layout import PROMPT_FILE, run_path
from atomic.record.owner import OwnerState, state_of
from atomic.text import Masker, one_line
from flows.cli.figures import clock, duration, money
from flows.cli.output import coloured, page

HEAD = ("run", "when", "came to", "att", "took", "cost", "model", "what")
RIGHT = frozenset({"att", "took", "cost"})
WIDE = frozenset({"model", "what"})  # what a narrow terminal cuts: the others are what the next command needs
STYLES = {"answered": "green", "running": "cyan"}  # everything else is a kind of failure
CELL = 48  # characters of a plain column that holds other people's words
LEAST = 8  # characters of such a column on the narrowest terminal
PROMPT_HEAD = 200  # bytes of a prompt that are read for its first words


@dataclass(frozen=True, slots=True)
class Row:
    """A run's cells, in the order of HEAD."""

    cells: tuple[str, ...]

    @property
    def outcome(self) -> str:
        """What it came to."""
        return self.cells[2]


def row_of(run: RunRecord, store: RunStore, masker: Masker) -> Row:
    """The row of a run. Where it has no name, the first words of its prompt tell what it was, if they are at hand."""
    last = run.attempts[-1] if run.attempts else None
    model = run.answered_by or (last.model if last else None)
    took = "" if run.ended_at is None else duration(run.ended_at - run.created_at)
    return Row(
        (
            run.run_id,
            clock(run.created_at),
            _outcome(run),
            str(len(run.attempts)),
            took,
            "?" if run.cost_usd is None else money(run.cost_usd),
            one_line(model or "–", CELL),
            one_line(masker(run.name or _first_words(run, store)), CELL),
        )
    )


def show_table(rows: list[Row], stream: IO[str]) -> None:
    """The table on stdout."""
    if coloured(stream):
        _rich_table(rows)
        return
    columns = [HEAD, *(row.cells for row in rows)]
    widths = [max(map(len, column)) for column in zip(*columns, strict=True)]
    page("  ".join(map(_placed, HEAD, cells, widths)).rstrip() for cells in columns)


def _placed(head: str, cell: str, width: int) -> str:
    return cell.rjust(width) if head in RIGHT else cell.ljust(width)


def _rich_table(rows: list[Row]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    needed = [max(map(len, column)) for column in zip(HEAD, *(row.cells for row in rows), strict=True)]
    fixed = sum(width + 1 for head, width in zip(HEAD, needed, strict=True) if head not in WIDE) + 1
    room = max((console.width - fixed) // len(WIDE), LEAST)
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    for head, width in zip(HEAD, needed, strict=True):
        justify: Literal["left", "right"] = "right" if head in RIGHT else "left"
        given = min(width, room) if head in WIDE else width
        table.add_column(head, justify=justify, no_wrap=True, overflow="ellipsis", width=given)
    for row in rows:
        cells = [Text(cell) for cell in row.cells]  # never markup: names and models are other people's words
        cells[2].stylize(STYLES.get(row.outcome, "red"))
        table.add_row(*cells)
    console.width = max(console.width, fixed + len(WIDE) * (LEAST + 1))  # a narrower terminal wraps the lines itself
    console.print(table)


def _outcome(run: RunRecord) -> str:
    if run.ended:
        return "answered" if run.status == "answered" else str(run.kind)
    cut_off = run.owner is not None and state_of(run.owner) is OwnerState.DEAD
    return "cut off" if cut_off else "running"


def _first_words(run: RunRecord, store: RunStore) -> str:
    path = store.spool / run_path(run.run_id) / PROMPT_FILE
    with contextlib.suppress(OSError), path.open("rb") as prompt:
        return prompt.read(PROMPT_HEAD).decode("utf-8", "ignore")
    return ""
