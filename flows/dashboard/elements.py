"""Elements of a page, by their HTML names. Text goes through here, and only as text."""

from __future__ import annotations

from datetime import datetime

from nicegui import ui

from flows.cli.figures import clock
from flows.dashboard.outcomes import Family
from flows.dashboard.text import visible


def el(tag: str, text: str | None = None, classes: str = "", /, **attributes: str | bool) -> ui.element:
    """An element with text, which may be hostile: invisible characters are shown, and markup is what it looks like.

    ``classes`` and the names of ``attributes`` are ours (``aria_label`` becomes ``aria-label``, ``class_`` …); their
    values may be anything but the address of a link, which is ours too. An element with other elements in it is a
    context manager."""
    element = ui.element(tag)
    if text is not None:
        element._text = visible(text)
    if classes:
        element.classes(classes)
    for name, value in attributes.items():
        if value is not False:
            key = name.rstrip("_").replace("_", "-")
            element.props[key] = visible(value) if isinstance(value, str) else value
    return element


def set_text(element: ui.element, text: str) -> None:
    """Give an element other text; nothing is sent where it has it already."""
    shown = visible(text)
    if element._text != shown:
        element._text = shown
        element.update()


def link(text: str, to: str, classes: str = "", /, **attributes: str | bool) -> ui.element:
    """A link within the dashboard; its address begins with ``/``, ``#`` or ``?``."""
    assert to.startswith(("/", "#", "?")), "a link of ours"
    return el("a", text, classes, href=to, **attributes)


def away(text: str, address: str, classes: str = "", /) -> ui.element:
    """A link to somewhere else, which comes from the user's own settings."""
    assert address.startswith(("http://", "https://")), "a page of the web"
    return el("a", text, classes, href=address, rel="noreferrer noopener")


def pill(family: Family, text: str) -> ui.element:
    """An outcome: its sign, its word, and its family's colour."""
    with el("span", None, f"pill {family.name}") as element:
        el("span", family.sign, aria_hidden="true")
        el("span", text)
    return element


def moment(at: float | None, classes: str = "", /) -> ui.element:
    """A time of day as people read it, and as machines do. ``at`` is in seconds since the epoch."""
    if at is None:
        return el("span", "?", classes)
    try:
        exact = datetime.fromtimestamp(at).astimezone().isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return el("span", "?", classes)
    return el("time", clock(at), classes, datetime=exact, title=exact)
