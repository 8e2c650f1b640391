"""How an edition stands: in a word, as a bar, in figures."""

from __future__ import annotations

from urllib.parse import urlencode

from flows.cli.figures import count
from flows.dashboard.asking import Question
from flows.dashboard.elements import el, pill
from flows.dashboard.outcomes import ANSWERED, RUNNING, STOPPED, WAITS, Family
from flows.dashboard.units import dollars, percent, seconds
from flows.database.tables import storable
from flows.history import EditionRow, RunFilter

_LIVE = {"run": "running", "pause": "paused", "drain": "draining", "stop": "stopping"}
_PARTS = ("answered", "failed", "running", "parked", "pending")  # of the bar, from the left
_TONES = {"failed": "agent", "parked": "waits", "pending": "rest"}


def address(batch: str) -> str:
    """The page of a batch. Names may be anything, and so are no part of a path."""
    return f"/batch?{urlencode({'name': storable(batch)})}"


def runs_of(edition: EditionRow) -> Question:
    """The runs of an edition."""
    return Question(labels=RunFilter(batch=edition.batch, edition=edition.name))


def state(edition: EditionRow) -> tuple[Family, str]:
    """What becomes of it now."""
    if edition.alive:
        return (RUNNING if edition.control == "run" else WAITS), _LIVE[edition.control]
    if edition.status == "running":
        return STOPPED, "cut off by a kill"
    return (ANSWERED if edition.status == "finished" and not edition.counts.failed else STOPPED), edition.status


def show_state(edition: EditionRow) -> None:
    """The same as a pill."""
    pill(*state(edition))


def show_bar(edition: EditionRow) -> None:
    """Its items by their states. The words beside it say the same."""
    counts = edition.counts
    said = ", ".join(f"{getattr(counts, part):,} {part}" for part in _PARTS if getattr(counts, part))
    with el("span", None, "progress", role="img", aria_label=said or "no items"):
        for part in _PARTS:
            if n := getattr(counts, part):
                tone = _TONES.get(part, part)
                el("span", None, f"part {part} {tone}", title=f"{n:,} {part}").style(f"flex-grow:{n}")


def done(edition: EditionRow) -> str:
    """``1,200 of 5,000 (24.0 %)``."""
    counts = edition.counts
    ended = counts.answered + counts.failed
    return f"{ended:,} of {counts.total:,} ({percent(ended / counts.total if counts.total else None)})"


def seconds_left(edition: EditionRow) -> float | None:
    """How long the rest takes at the rate of the last minutes."""
    return edition.counts.left / edition.rate * 60 if edition.rate and edition.alive else None


def figures(edition: EditionRow) -> list[tuple[str, str]]:
    """Names and figures."""
    found = [("done", done(edition)), ("answered", f"{edition.counts.answered:,}")]
    found += [(part, f"{n:,}") for part in _PARTS[1:] if (n := getattr(edition.counts, part))]
    if edition.rate is not None:
        found.append(("rate", f"{edition.rate:.1f} a minute"))
    if (left := seconds_left(edition)) is not None:
        found.append(("time left", seconds(left)))
    unpriced = f" and {edition.unpriced:,} runs of unknown price" if edition.unpriced else ""
    found += [("cost", f"{dollars(edition.cost_usd)}{unpriced}"), ("tokens", count(edition.tokens))]
    return found
