"""Rows of runs; those that run are drawn anew as they go on."""

from __future__ import annotations

import time
from collections.abc import Sequence

from nicegui import ui

from atomic.text import Masker, one_line
from flows.cli.figures import count
from flows.dashboard.asking import Question
from flows.dashboard.elements import el, link, moment, pill
from flows.dashboard.outcomes import family_of, words
from flows.dashboard.tables import table
from flows.dashboard.text import OWN_MODEL
from flows.dashboard.units import dollars, seconds
from flows.history import RUNNING, RunRow

HEADS = ("Began", "Outcome", "Run", "Model", "Attempts", "Took", "Tokens", "Cost")
TITLE = 160  # characters of a prompt or a message in a row
NAMED = 80
MOST_TAGS = 6


class Rows:
    """The table. It lives as long as its page."""

    def __init__(self, rows: Sequence[RunRow], masker: Masker, question: Question) -> None:
        self._masker = masker
        self._question = question
        self._now = {row.run_id: row for row in rows}
        self._drawn: dict[str, ui.element] = {}
        self._took: dict[str, ui.element] = {}
        with table("Runs", HEADS, "runs", numbers=4):
            for row in rows:
                self._drawn[row.run_id] = el("tr")
                self._draw(row)

    @property
    def running(self) -> list[str]:
        """The ids of those that have not ended."""
        return [run_id for run_id, row in self._now.items() if row.status == RUNNING]

    def update(self, rows: Sequence[RunRow]) -> None:
        """Draw what changed."""
        for row in rows:
            if row != self._now.get(row.run_id):
                self._now[row.run_id] = row
                self._drawn[row.run_id].clear()
                self._draw(row)
            elif row.status == RUNNING:
                took = self._took[row.run_id]
                took._text = seconds(time.time() - row.created_at)
                took.update()

    def _draw(self, row: RunRow) -> None:
        with self._drawn[row.run_id]:
            with el("td", None, "began"):
                moment(row.created_at)
            with el("td", None, "outcome"):
                pill(family_of(row.status, row.kind), words(row.status, row.kind))
            with el("td", None, "what"):
                self._what(row)
            with el("td", None, "by"):
                _models(row)
            for name, text in self._figures(row).items():
                with el("td", None, f"n {name}", data_label=name):
                    shown = el("span", text)
                if name == "took":
                    self._took[row.run_id] = shown

    def _what(self, row: RunRow) -> None:
        title = row.name or row.custom_id or self._masker(one_line(row.prompt, TITLE)) or row.run_id
        link(one_line(title, TITLE), f"/runs/{row.run_id}", "title")
        if row.status == "failed" and row.message:
            el("span", self._masker(one_line(row.message, TITLE)), "muted small clip")
        elif (row.name or row.custom_id) and row.prompt:
            el("span", self._masker(one_line(row.prompt, TITLE)), "muted small clip")
        if row.batch is None and not row.tags:
            return
        with el("span", None, "tags small"):
            if row.batch is not None:
                link(one_line(row.batch, NAMED), self._question.only(batch=row.batch).to("/runs"), "tag batch")
            for tag in row.tags[:MOST_TAGS]:
                tags = tuple(dict.fromkeys((*self._question.labels.tag, tag)))
                link(one_line(tag, NAMED), self._question.only(tag=tags).to("/runs"), "tag")

    def _figures(self, row: RunRow) -> dict[str, str]:
        took = time.time() - row.created_at if row.seconds is None and row.status == RUNNING else row.seconds
        return {
            "attempts": f"{row.attempts:,}",
            "took": seconds(took),
            "tokens": count(row.tokens) if row.tokens else "–",
            "cost": dollars(row.cost_usd),
        }


def _models(row: RunRow) -> None:
    """Who answered; where it was another than the first, both."""
    first, last = row.first_model, row.answered_by
    if row.hopped:
        el("span", one_line(first or OWN_MODEL, NAMED), "muted left-by")
        with el("span", None, "hop-to"):
            el("span", "→ ", aria_hidden="true")
            el("span", "then ", "unseen")
            el("span", one_line(last or OWN_MODEL, NAMED))
    else:
        el("span", one_line(last or first or OWN_MODEL, NAMED))
