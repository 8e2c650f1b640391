"""The frame of every page: header with navigation, landmarks, title, theme."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from nicegui import context, ui

from flows.dashboard.elements import el, link
from flows.dashboard.static import script, style_sheet
from flows.dashboard.text import visible

NAME = "atomic-flows"
PAGES = (("Overview", "/"), ("Runs", "/runs"), ("Batches", "/batches"))


def add_shared_head() -> None:
    """What the head of every page holds. To be called once."""
    # Not a module: it has to run before the page is painted.
    ui.add_head_html(f'<link rel="stylesheet" href="{style_sheet()}"><script src="{script()}"></script>', shared=True)


@contextmanager
def frame(title: str, here: str | None = None) -> Iterator[None]:
    """A page. ``title`` may hold hostile text; ``here`` is the path of the entry in the navigation that it is below."""
    _plain_outer_elements()
    ui.page_title(f"{visible(title)} · {NAME}")
    link("Skip to the content", "#main", "skip")
    with el("header", None, "bar"):
        link(NAME, "/", "brand")
        with el("nav", aria_label="Main"):
            for name, path in PAGES:
                link(name, path, aria_current="page" if path == here else False)
        el("button", "Theme", "theme", type="button", data_theme_switch=True, aria_label="Switch light and dark")
    with el("main", None, "page", id="main", tabindex="-1"):
        yield


def _plain_outer_elements() -> None:
    """NiceGUI wraps a page in Quasar's layout, which is a <main> of its own; ours has a header and a <main> in it."""
    client = context.client
    for element in (client.layout, client.page_container, _page_of(client.content)):
        element.tag = "div"
        element.props.clear()
        element.classes(replace="")
    client.content.classes(replace="frame")


def _page_of(content: ui.element) -> ui.element:
    slot = content.parent_slot
    assert slot is not None
    return slot.parent


def missing(title: str, why: str) -> None:
    """The page of what is not there."""
    context.client.status_code = 404
    with frame(title):
        el("h1", title)
        if why:
            el("p", why, "muted")
        link("All runs", "/runs")
