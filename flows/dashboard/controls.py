"""What a page is asked by: its time and its filter. Links and forms that only change the address, so that the browser's
own buttons go back and forth between them, and each view can be kept and sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import tzinfo
from typing import TypeVar

from nicegui import context

from atomic.errors import DatabaseError
from atomic.failures import FailureKind
from flows.dashboard.asking import HOPPED, ORDERS, STATUSES, WINDOWS, Question
from flows.dashboard.elements import el, link
from flows.dashboard.layout import frame
from flows.history import Facets
from flows.history.zones import zone_name

_Facts = TypeVar("_Facts")
NAMES = {
    "answered_by": "answered by",
    "hopped": "answered by",
    "text": "words",
}
_HOPPED = {"yes": "another model than the first", "no": "the first model"}


async def from_history(look: Callable[[], _Facts]) -> _Facts | None:
    """What a question to the database says; None where it does not answer: then the page says so."""
    try:
        return await asyncio.to_thread(look)
    except DatabaseError as error:
        context.client.status_code = 503
        with frame("The history cannot be read"):
            el("h1", "The history cannot be read")
            el("p", error.message)
            if error.hint:
                el("p", error.hint, "muted")
        return None


def show_window(question: Question, path: str, zone: tzinfo, windows: Sequence[str] = tuple(WINDOWS)) -> None:
    """The time, as links, and days of one's own choice."""
    with el("div", None, "window", role="group", aria_label="Time"):
        for name in windows:
            here = question.window.name == name
            label = "All" if name == "all" else name.replace("h", " h").replace("d", " d")
            link(
                label,
                question.only(window=type(question.window)(name)).to(path),
                aria_current="true" if here else False,
            )
        with el("details", None, "days"):
            el(
                "summary",
                "Days" if question.window.name else question.window.title,
                "" if question.window.name else "chosen",
            )
            with el("form", None, "popup", method="get", action=path, data_asks=True):
                _kept([*question.chosen(), *([("order", question.order)] if question.order else [])])
                for name, day in (("from", question.window.first), ("to", question.window.last)):
                    with el("label"):
                        el("span", name.capitalize())
                        el("input", type="date", name=name, value=day.isoformat() if day else "")
                el("button", "Show", type="submit")
        el(
            "span",
            f"times of {zone_name(zone)}",
            "muted small zone",
            title="The time zone of the machine that serves this",
        )


def show_filter(question: Question, path: str, facets: Facets, *, orders: bool) -> None:
    """The filter as a form, then what is chosen, each with a way to leave it out."""
    chosen = list(question.chosen())
    with el("details", None, "filter"):
        el("summary", f"Filter ({len(chosen)})" if chosen else "Filter")
        with el("form", None, "fields", method="get", action=path, data_asks=True, role="search"):
            _kept(question.window.pairs)
            _field("text", "Words", question, hint="in id, name, message, prompt")
            _choice("status", "Status", question, STATUSES)
            _choice("kind", "Kind of failure", question, sorted({*facets.kinds, *map(str, FailureKind)}))
            _field("model", "Model", question, facets.models, hint="asked or answered; openai/*")
            _field("provider", "Provider", question, facets.providers)
            _field("answered_by", "Answered by", question, facets.models)
            _choice("hopped", "Answered by", question, tuple(HOPPED), _HOPPED)
            _field("tag", "Tag", question, facets.tags)
            _field("batch", "Batch", question, facets.batches)
            _field("edition", "Edition", question)
            _field("name", "Name", question, hint="triage-*")
            if orders:
                _order(question)
            with el("div", None, "do"):
                el("button", "Apply", "primary", type="submit")
                if chosen:
                    link("Clear", Question(question.window).to(path))
    if chosen:
        with el("ul", None, "chips", aria_label="What is chosen"):
            for name, value in chosen:
                shown = _HOPPED[value] if name == "hopped" else value
                with el("li"), link("", question.without(name, value).to(path), "chip", title="Leave this out"):
                    el("span", f"{NAMES.get(name, name)}: ", "muted")
                    el("span", shown)
                    el("span", " ✕", aria_hidden="true")
                    el("span", ", leave this out", "unseen")
    for problem in question.problems:
        el("p", problem, "warning", role="status")


def show_ways(before: str | None, after: str | None, names: tuple[str, str] = ("Newer", "Older")) -> None:
    """The ways to the page before and the page after, where there are any."""
    if before is None and after is None:
        return
    with el("nav", None, "pages", aria_label="Pages"):
        if before is not None:
            link(f"← {names[0]}", before, rel="prev")
        if after is not None:
            link(f"{names[1]} →", after, rel="next")


def _values(question: Question, name: str) -> list[str]:
    return [value for one, value in question.chosen() if one == name]


def _field(name: str, title: str, question: Question, known: Sequence[str] = (), hint: str = "") -> None:
    value, *others = [*_values(question, name), ""]
    listed = f"known-{name}" if known else ""
    with el("label"):
        el("span", title)
        more = {"list": listed} if listed else {}
        el(
            "input",
            type="text",
            name=name,
            value=value,
            placeholder=hint,
            autocomplete="off",
            spellcheck="false",
            **more,
        )
    _kept([(name, other) for other in others if other])
    if known:
        with el("datalist", id=listed):
            for one in known:
                el("option", value=one)


def _choice(
    name: str, title: str, question: Question, known: Sequence[str], words: dict[str, str] | None = None
) -> None:
    chosen, *others = [*_values(question, name), ""]
    with el("label"):
        el("span", title)
        with el("select", name=name):
            el("option", "any", value="")
            for one in known if chosen in known or not chosen else [*known, chosen]:
                el("option", (words or {}).get(one, one), value=one, selected=one == chosen)
    _kept([(name, other) for other in others if other])


def _order(question: Question) -> None:
    with el("label"):
        el("span", "Order")
        with el("select", name="order"):
            for name, title in ORDERS.items():
                el("option", title, value=name, selected=name == question.order)


def _kept(pairs: Sequence[tuple[str, str]]) -> None:
    for name, value in pairs:
        el("input", type="hidden", name=name, value=value)
