"""Tables: heads, cells, numbers at the right, and bars within cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from nicegui import ui

from flows.dashboard.elements import el, link

NUMBER = "n"  # the class of what stands at the right


@contextmanager
def table(caption: str, heads: Sequence[str], classes: str = "", *, numbers: int = 0) -> Iterator[ui.element]:
    """A table, whose body is filled in the block. The last ``numbers`` columns hold figures. ``caption`` is for those
    who do not see it: a heading stands above for all others. Where it is too wide, it scrolls within itself."""
    with el("div", None, "wide", role="region", aria_label=caption, tabindex="0"), el("table", None, classes):
        el("caption", caption, "unseen")
        with el("thead"), el("tr"):
            for n, head in enumerate(heads):
                el("th", head, NUMBER if n >= len(heads) - numbers else "", scope="col")
        with el("tbody") as body:
            yield body


def number(text: str, to: str | None = None, classes: str = "", /) -> None:
    """A cell with a figure, which may lead somewhere."""
    with el("td", None, f"{NUMBER} {classes}"):
        if to is None:
            el("span", text)
        else:
            link(text, to, "plain")


def words(text: str, to: str | None = None, classes: str = "", /) -> None:
    """A cell with text, which may lead somewhere."""
    with el("td", None, classes):
        if to is None:
            el("span", text)
        else:
            link(text, to, "plain")


def bar(part: float, classes: str = "", /, *, of: float = 1.0) -> None:
    """A bar as long as a part of the longest; the figure stands beside it, so this is for the eye only."""
    width = min(max(part / of, 0.0), 1.0) if of > 0 else 0.0
    with el("span", None, "length", aria_hidden="true"):
        if width:
            el("span", None, f"filled {classes}").style(f"width:{width:.2%}")
