from __future__ import annotations

import io
import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from flows.cli.tables import NARROWEST, Column, fit, paragraph, parts, shortened, table

RUN = "20261201-143156-7wyflkij"
COLUMNS = (
    Column("run"),
    Column("when", rank=3),
    Column("came to"),
    Column("cost", right=True, rank=1),
    Column("model", least=12, cut="middle", fold=True),
    Column("what", least=8, fold=True),
)
ROW = (
    RUN,
    "14:31:56",
    ("answered", "32"),
    "$0.2310",
    "openrouter/anthropic/claude-opus-4-5:high",
    "List the risks 日本",
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(width: int, monkeypatch: pytest.MonkeyPatch, row: Sequence[str | tuple[str, str]] = ROW) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    return [re.sub(r"\x1b\[\d+m", "", line) for line in table(COLUMNS, [row], Terminal())]


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
def test_no_line_is_wider_than_the_terminal_and_ids_stay_whole(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(width, monkeypatch)
    assert max(map(cell_len, lines)) <= width
    assert lines[1].startswith(RUN)
    assert "answered" in lines[1]


def test_what_is_narrower_folds_and_leaves_out_what_matters_least(monkeypatch: pytest.MonkeyPatch) -> None:
    head, row = shown(200, monkeypatch)
    assert head.split() == ["run", "when", "came", "to", "cost", "model", "what"]
    assert row.endswith("claude-opus-4-5:high  List the risks 日本")
    head, row = shown(100, monkeypatch)
    assert re.search(r"openrouter\S+…\S+:high +List", row), "both ends of a model say which it is"
    head, row, below = shown(50, monkeypatch)
    assert "when" not in head.split()
    assert "$0.2310" in row
    assert below.startswith("  openrouter")
    assert "List the" in below


def test_into_a_pipe_nothing_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    _, row = table(COLUMNS, [ROW], io.StringIO())
    assert all((cell if isinstance(cell, str) else cell[0]) in row for cell in ROW)
    assert "\x1b" not in row


@given(st.text(max_size=60), st.integers(min_value=1, max_value=70), st.sampled_from(["end", "middle"]))
def test_a_shortened_text_fits_and_a_short_one_stays(text: str, width: int, cut: str) -> None:
    short = shortened(text, width, "middle" if cut == "middle" else "end")
    assert cell_len(short) <= width
    assert (short == text) == (cell_len(text) <= width) or text.endswith("…")


@given(
    st.lists(st.text(alphabet="ab日 ", max_size=30), min_size=6, max_size=6),
    st.integers(min_value=NARROWEST, max_value=200),
)
def test_every_column_is_shown_folded_or_may_be_left_out(cells: list[str], width: int) -> None:
    kept, below, _ = fit(COLUMNS, [cells], width)
    assert not set(kept) & set(below)
    assert all(COLUMNS[n].rank for n in range(len(COLUMNS)) if n not in kept and n not in below)


def test_a_paragraph_hangs_and_keeps_its_parts_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    lines = paragraph("a run  ", parts(["cost no limit", "tokens no limit", "waiting 15 min"]), Terminal())
    assert lines == ["a run  cost no limit · tokens no limit ·", "       waiting 15 min"]
