"""What happens in a run, in words: the same for a live terminal and for plain lines. All parts are cleaned."""

from __future__ import annotations

import time

from atomic.runner import AttemptEnded, AttemptStarted, RunEvent, RunStarted, Waiting
from atomic.session import Progress
from atomic.text import one_line
from flows.cli.figures import clock, count, duration, money
from flows.cli.output import BOLD, CYAN, DIM, RED, YELLOW
from flows.cli.spoken import spoken

Piece = tuple[str, str]  # text, and the code of its colour ("" for none)
OWN_MODEL = "the agent's own model"
MESSAGE = 160  # characters of an error's message within a line


def sentence(event: RunEvent) -> list[Piece]:
    """One line for an event; nothing for one that is shown otherwise."""
    if isinstance(event, RunStarted):
        models = " → ".join(map(str, event.models)) or OWN_MODEL
        return [(f"run {event.run_id}", BOLD), (f"  {one_line(models, 400)}", DIM)]
    if isinstance(event, AttemptStarted):
        carry = ", goes on with what is done" if event.carry else ""
        return [("▸ ", CYAN), (_attempt(event.n, event.model), BOLD), (f"  {one_line(event.reason)}{carry}", DIM)]
    if isinstance(event, AttemptEnded):
        verdict = event.verdict
        if verdict.answered:
            return []  # what the run came to follows at once
        return [
            ("✗ ", RED),
            (f"attempt {event.n} failed: ", ""),
            (str(verdict.kind), RED),
            (f"  {one_line(spoken(verdict.message), MESSAGE)}", DIM),
        ]
    if isinstance(event, Waiting):
        left = duration(event.until - time.time())
        return [
            ("… ", YELLOW),
            (f"waiting {left}, until {clock(event.until)}", ""),
            (f"  {one_line(event.reason)}", DIM),
        ]
    return []


def at_work(progress: Progress, since: float = 0.0) -> list[Piece]:
    """How the attempt at work stands; `since` are the seconds since it was told."""
    figures = [duration(progress.seconds + since)]
    if progress.usage.tokens:
        figures.append(f"{count(progress.usage.tokens)} tokens")
    if progress.usage.cost_usd:
        figures.append(money(progress.usage.cost_usd))
    for number, word in ((progress.retries, "retry"), (progress.compactions, "compaction")):
        if number:
            figures.append(f"{number} {word if number == 1 else word.replace('retry', 'retrie') + 's'}")
    doing = f"tool {one_line(progress.tool, 40)}" if progress.tool else progress.phase
    return [(_attempt(progress.n, progress.model), BOLD), (f"  {doing}", CYAN), (f"  {' · '.join(figures)}", DIM)]


def _attempt(n: int, model: str | None) -> str:
    return f"attempt {n} · {one_line(model) if model else OWN_MODEL}"
