"""Tables and paragraphs that fit their terminal. Every listing of the command line is made here.

A table is columns and rows of cells. What is wider than the terminal is made to fit in this order: columns that
``fold`` are cut, where they may be (``least``), from the middle or the end; then they move to a second line below their
row; then other columns that may be cut are cut; then those with the highest ``rank`` are left out. A column with none
of these, such as an id that the next command needs, is never cut: a terminal narrower than that wraps it. Into a pipe
nothing is cut but what callers cut.
"""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import IO, Literal

from rich.cells import cell_len, set_cell_size

from flows.cli.output import DIM, paint

GAP = "  "
NARROWEST = 40  # columns; a terminal that says less, or 0, does not know
FOLDED = "  "  # what a folded line begins with
CUT = "…"
DOT = " · "  # between folded cells
KEEP = "\N{NO-BREAK SPACE}"

Cell = str | tuple[str, str]  # cleaned text, or such a text and the code of its colour


@dataclass(frozen=True, slots=True)
class Column:
    """One column. ``least``: cells to which it may be cut, 0 for never; ``cut``: where; ``rank``: the highest is left
    out first, 0 never; ``fold``: whether it may move to a second line."""

    head: str
    least: int = 0
    cut: Literal["end", "middle"] = "end"
    right: bool = False
    rank: int = 0
    fold: bool = False


def width_of(stream: IO[str]) -> int | None:
    """Columns of the terminal behind a stream ($COLUMNS first); None where there is none, and so no bound."""
    if not stream.isatty():
        return None
    if not os.environ.get("COLUMNS", "").isdecimal():
        try:
            return max(os.get_terminal_size(stream.fileno()).columns, NARROWEST)
        except (OSError, ValueError):
            pass
    return max(shutil.get_terminal_size().columns, NARROWEST)


def table(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], stream: IO[str]) -> list[str]:
    """The lines of a table as it is to be written to this stream, the heads first."""
    width = width_of(stream)
    kept, below, widths = fit(columns, [[text_of(cell) for cell in row] for row in rows], width)
    lines = [paint(_line([columns[n].head for n in kept], kept, columns, widths, None), DIM, stream=stream)]
    for row in rows:
        lines.append(_line(row, kept, columns, widths, stream, whole_row=True))
        if below:
            lines += [paint(line, DIM, stream=stream) for line in _folded(row, below, columns, stream)]
    return lines


def fit(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int | None
) -> tuple[list[int], list[int], dict[int, int]]:
    """Which columns are shown in a row and which below it, by number, and how wide each is. Pure."""
    natural = {
        n: max(cell_len(text) for text in (one.head, *(row[n] for row in rows))) for n, one in enumerate(columns)
    }
    kept = list(natural)
    below: list[int] = []
    foldable = [n for n in kept if columns[n].fold]
    while width is not None:
        widths = _squeezed(kept, columns, natural, width, (foldable if not below else ()) or kept)
        if _total(widths) <= width:
            return kept, below, widths
        if foldable and not below:
            below = foldable
            kept = [n for n in kept if n not in below]
            continue
        least = max(kept, key=lambda n: columns[n].rank)
        if columns[least].rank == 0:
            return kept, below, widths
        kept.remove(least)
    return kept, below, natural


def shortened(text: str, width: int, cut: Literal["end", "middle"] = "end") -> str:
    """The text in at most so many cells; what is cut is marked by ``…``."""
    if cell_len(text) <= width:
        return text
    if cut == "end":
        return set_cell_size(text, max(width - 1, 0)).rstrip() + CUT
    tail = max(width - 1, 0) // 2
    behind = text[len(text) - tail :] if tail else ""
    return set_cell_size(text, max(width - 1 - cell_len(behind), 0)).rstrip() + CUT + behind


def paragraph(lead: str, text: str, stream: IO[str], indent: int | None = None) -> list[str]:
    """A text behind ``lead`` (no colours), its further lines set in by ``indent`` cells, by default as far as the
    first. No line is broken at a KEEP, which is written as a blank."""
    width = width_of(stream)
    inner = " " * (cell_len(lead) if indent is None else indent)
    if width is None or cell_len(lead + text) <= width:
        return [(lead + text).replace(KEEP, " ")]
    lines = textwrap.wrap(
        text, width, initial_indent=lead, subsequent_indent=inner, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace(KEEP, " ") for line in lines]


def parts(texts: Iterable[str]) -> str:
    """Texts with dots between them, for a paragraph: none of them is broken."""
    return f"{KEEP}· ".join(text.replace(" ", KEEP) for text in texts)


def text_of(cell: Cell) -> str:
    """The text of a cell."""
    return cell if isinstance(cell, str) else cell[0]


def _squeezed(
    kept: Sequence[int], columns: Sequence[Column], natural: dict[int, int], width: int, among: Sequence[int]
) -> dict[int, int]:
    """The widths with the widest of ``among`` that may be cut made narrower, a cell at a time, until all fits."""
    widths = {n: natural[n] for n in kept}
    while _total(widths) > width:
        slack = [n for n in among if columns[n].least and widths[n] > columns[n].least]
        if not slack:
            break
        widths[max(slack, key=lambda n: widths[n])] -= 1
    return widths


def _folded(row: Sequence[Cell], below: Sequence[int], columns: Sequence[Column], stream: IO[str]) -> list[str]:
    """What stands below a row: in one line where all of it may be cut, else in as many as it needs."""
    texts = {n: text for n in below if (text := text_of(row[n]))}
    width = (width_of(stream) or NARROWEST) - len(FOLDED) - len(DOT) * (len(texts) - 1)
    if texts and all(columns[n].least for n in texts):
        widths = {n: cell_len(text) for n, text in texts.items()}
        while sum(widths.values()) > width:
            widths[max(widths, key=lambda n: widths[n] - columns[n].least)] -= 1
        return [FOLDED + DOT.join(shortened(text, widths[n], columns[n].cut) for n, text in texts.items())]
    return paragraph(FOLDED, DOT.join(texts.values()), stream)


def _total(widths: dict[int, int]) -> int:
    return sum(widths.values()) + len(GAP) * (len(widths) - 1)


def _line(
    row: Sequence[Cell],
    kept: Sequence[int],
    columns: Sequence[Column],
    widths: dict[int, int],
    stream: IO[str] | None,
    *,
    whole_row: bool = False,
) -> str:
    """One line. ``whole_row``: the cells are those of all columns, not of the kept ones alone."""
    cells = []
    for place, n in enumerate(kept):
        cell = row[n if whole_row else place]
        text = shortened(text_of(cell), widths[n], columns[n].cut)
        blank = " " * (widths[n] - cell_len(text))
        if isinstance(cell, tuple) and stream is not None:
            text = paint(text, cell[1], stream=stream) if cell[1] else text
        cells.append(blank + text if columns[n].right else text + blank)
    return GAP.join(cells).rstrip()
