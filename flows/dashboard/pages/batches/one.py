"""``/batch?name=NAME``: how its newest edition stands, why items failed, what to type to go on, and what was before."""

from __future__ import annotations

import shlex

from fastapi import Request
from nicegui import ui

from atomic.errors import BatchNotFound
from atomic.text import one_line
from flows.dashboard.charts import swatch
from flows.dashboard.controls import from_history
from flows.dashboard.elements import el, link, moment
from flows.dashboard.layout import frame, missing
from flows.dashboard.live import follow
from flows.dashboard.outcomes import family_of, pattern_of, words
from flows.dashboard.pages.batches.standing import done, figures, runs_of, show_bar, show_state
from flows.dashboard.sources import Sources
from flows.dashboard.tables import bar, number, table
from flows.dashboard.units import dollars
from flows.history import EditionRow, editions_of

NAMED = 120  # characters of a name
REASON = 600


def register(sources: Sources) -> None:
    """The page."""

    @ui.page("/batch")
    async def page(request: Request) -> None:
        name = request.query_params.get("name", "")

        def look() -> tuple[EditionRow, ...] | None:
            try:
                return editions_of(sources.database, name)
            except BatchNotFound:
                return None

        found = await from_history(lambda: (look(),))
        if found is None:
            return
        if not (editions := found[0]):
            missing(f"There is no batch {one_line(name, NAMED)}", "")
            return
        with frame(one_line(name, NAMED), "/batches"):
            with el("nav", None, "trail", aria_label="Where this is"):
                link("Batches", "/batches")
                el("span", "/", aria_hidden="true")
                el("span", one_line(name, NAMED))
            with el("div", None, "stack live-part") as place:
                _show(editions)
            now = editions

            def show(fresh: tuple[EditionRow, ...] | None) -> bool:
                nonlocal now
                if fresh and fresh != now:
                    now = fresh
                    place.clear()
                    with place:
                        _show(fresh)
                return True

            follow(look, show)


def _show(editions: tuple[EditionRow, ...]) -> None:
    newest = editions[0]
    with el("div", None, "verdict"):
        el("h1", one_line(newest.batch, NAMED))
        show_state(newest)
        if newest.reason:
            el("span", one_line(newest.reason, REASON), "story")
    with el("section", None, "panel"):
        el("h2", f"Edition {one_line(newest.name, NAMED)}")
        show_bar(newest)
        with el("dl", None, "tiles small-tiles"):
            for name, figure in figures(newest):
                with el("div", None, "tile"):
                    el("dt", name.capitalize())
                    el("dd", figure)
        with el("p", None, "muted small"):
            el("span", "Begun ")
            moment(newest.begun_at)
            if newest.ended_at is not None:
                el("span", ", ended ")
                moment(newest.ended_at)
            el("span", ". ")
            link("Its runs", runs_of(newest).to("/runs"))
            el("span", " · ")
            link("Summed up", runs_of(newest).to("/"))
    with el("div", None, "halves"):
        _kinds(newest)
        _commands(newest)
    if len(editions) > 1:
        _editions(editions)


def _kinds(newest: EditionRow) -> None:
    most = max(newest.kinds.values(), default=0)
    with el("section", None, "panel"):
        el("h2", "Why items failed")
        if not newest.kinds:
            el("p", "No item failed.", "muted")
            return
        with table("Failed items by kind", ["Kind", "", "Items"], numbers=1):
            for kind, n in newest.kinds.items():
                to = runs_of(newest).only(status=("failed",), kind=(kind,)).to("/runs")
                with el("tr"):
                    with el("th", None, "name", scope="row"):
                        swatch(family_of("failed", kind).name, pattern_of(kind))
                        link(words("failed", kind), to, "plain")
                    with el("td", None, "bars"):
                        bar(n, family_of("failed", kind).name, of=most)
                    number(f"{n:,}", to)


def commands(edition: EditionRow) -> list[tuple[str, str]]:
    """What to type in a terminal, and what it does. Pure."""
    if edition.alive:
        other = ("resume", "Go on") if edition.control == "pause" else ("pause", "Begin nothing new for now")
        return [
            (other[1], shlex.join(["atomic-flows", other[0], edition.batch])),
            ("End it, and go on another time", shlex.join(["atomic-flows", "stop", edition.batch])),
        ]
    same = ["atomic-flows", "batch", edition.input, f"--name={edition.batch}", f"--output={edition.output}"]
    same.append(f"--edition={edition.name}")
    found = []
    if edition.counts.left:
        found.append((f"Go on with the {edition.counts.left:,} left", shlex.join(same)))
    if edition.counts.failed:
        found.append((f"Run the {edition.counts.failed:,} failed ones again", shlex.join([*same, "--retry-failed"])))
    return found


def _commands(newest: EditionRow) -> None:
    with el("section", None, "panel"):
        el("h2", "To type in a terminal")
        found = commands(newest)
        if not found:
            el("p", "Nothing is left to do: every item is answered.", "muted")
        for what, command in found:
            with el("div", None, "command"):
                el("p", what, "small")
                el("pre", command)
                el("button", "Copy", type="button", data_copy=command, aria_label=f"Copy the command: {what}")
        if found and not newest.alive:
            el(
                "p",
                "With the models, policy and template it was begun with, if they are not the settings'.",
                "muted small",
            )


def _editions(editions: tuple[EditionRow, ...]) -> None:
    with el("section", None, "panel"):
        el("h2", "Editions")
        heads = ("Edition", "State", "Progress", "Done", "Failed", "Cost", "Begun")
        with table("Editions, the newest first", heads, "batches", numbers=4):
            for one in editions:
                with el("tr"):
                    with el("th", None, "name", scope="row"):
                        link(one_line(one.name, NAMED), runs_of(one).to("/runs"))
                    with el("td"):
                        show_state(one)
                    with el("td", None, "bars"):
                        show_bar(one)
                    number(done(one))
                    failed = one.counts.failed
                    number(f"{failed:,}", runs_of(one).only(status=("failed",)).to("/runs") if failed else None)
                    number(dollars(one.cost_usd), runs_of(one).only(order="cost").to("/runs"))
                    with el("td", None, "n"):
                        moment(one.begun_at)
