"""What a page says where there are no runs: what to do about it."""

from __future__ import annotations

from flows.dashboard.asking import Question, Window
from flows.dashboard.elements import el, link


def no_runs(question: Question, path: str, *, any_at_all: bool) -> None:
    """Nothing matches, or nothing is there yet."""
    with el("div", None, "empty"):
        if not any_at_all:
            el("h2", "There are no runs yet")
            with el("p"):
                el("span", "Run a prompt, and it is listed here: ")
                el("code", 'atomic-flows run "Say hello."')
            with el("p", None, "muted"):
                el("code", "atomic-flows demo")
                el("span", " shows it without a key.")
            return
        el("h2", "No run matches")
        chosen = any(True for _ in question.chosen())
        el("p", f"There is none in {question.window.title}{' with what is chosen' if chosen else ''}.", "muted")
        with el("p", None, "ways"):
            if question.window.name != "all":
                link("Look in all time", question.only(window=Window()).to(path))
            if chosen:
                link("Clear the filter", Question(question.window).to(path))
