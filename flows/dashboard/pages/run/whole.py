"""``/runs/ID``: what the run came to, and why."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from nicegui import ui

from atomic.text import Masker
from flows.dashboard.elements import el, set_text
from flows.dashboard.layout import frame
from flows.dashboard.pages.run.asked import Asked, ask_run
from flows.dashboard.pages.run.head import name_of, show_facts, show_head, state, trail
from flows.dashboard.pages.run.timeline import Timeline
from flows.dashboard.records import RunFound, find_run
from flows.dashboard.sources import Sources
from flows.dashboard.streams import Growing, Told, tell
from flows.dashboard.text import folded

EVERY = 1.0  # seconds between looks at a run that goes on
SOON = 0.8  # seconds a page waits for outlines: long streams are told later, the page is not kept for them
SHOWN = 20_000  # characters of a prompt or an answer
OPEN = 1_200  # characters up to which a prompt is shown unfolded


def register(sources: Sources) -> None:
    """The page."""

    @ui.page("/runs/{run_id}")
    async def run_page(run_id: str) -> None:
        asked = await ask_run(sources, run_id)
        if asked is None:
            return
        view = _View(sources, asked)
        prefect = await asyncio.to_thread(sources.prefect_pages)
        telling = asyncio.ensure_future(view.tell())
        await asyncio.wait({telling}, timeout=SOON)
        with frame(name_of(asked.run, asked.masker), "/runs"):
            trail(asked.run)
            el("h1", name_of(asked.run, asked.masker))
            view.show()
            show_facts(asked.run, asked.masker, prefect)
        if not telling.done() or asked.run.live:
            view.follow(telling)


class _View:
    """What of the page changes while the run goes on: made anew when the record has changed."""

    def __init__(self, sources: Sources, asked: Asked) -> None:
        self.sources = sources
        self.run = asked.run
        self.masker = asked.masker
        self.told: dict[int, Told] = {}
        self.growing: dict[int, Growing] = {}
        self.shown: object = None
        self.answered: object = None

    async def tell(self) -> None:
        """Read the outlines."""
        self.told = await asyncio.to_thread(self._tell)

    def _tell(self) -> dict[int, Told]:
        told: dict[int, Told] = {}
        for one in self.run.attempts:
            if one.folder is None:
                continue
            if one.status is not None:
                told[one.n] = tell(one.folder)
            else:
                growing = self.growing.setdefault(one.n, Growing(one.folder))
                told[one.n] = growing.advance()
        return told

    def show(self) -> None:
        """Make the parts for the first time."""
        self.state = el("p", state(self.run), "unseen", role="status")
        self.head = el("div", None, "stack")
        with el("section", None, "stack", aria_labelledby="attempts"):
            el("h2", "Attempts", id="attempts")
            self.timeline = Timeline()
        with el("div", None, "sides"):
            with el("section", None, "stack", aria_labelledby="prompt"):
                el("h2", "Prompt", id="prompt")
                _text(self.masker.data((self.run.prompt or b"").decode("utf-8", "replace")))
            with el("section", None, "stack", aria_labelledby="answer"):
                el("h2", "Answer", id="answer")
                self.answer = el("div")
        self.fill()

    def fill(self) -> None:
        """Show what there is now."""
        stamp = (self.run, tuple(self.told.items()))
        if stamp == self.shown:
            return
        self.shown = stamp
        _again(self.head, lambda: show_head(self.run, self.masker))
        self.timeline.show(self.run, self.told, self.masker)
        set_text(self.state, state(self.run))
        if self.answered != (now := (self.run.live, self.run.record and self.run.record.answer)):
            self.answered = now
            _again(self.answer, lambda: _answer(self.run, self.masker))

    def follow(self, telling: asyncio.Future[None]) -> None:
        """Look again until the run has ended and its outlines are told."""

        async def look() -> None:
            await telling
            self.run = await asyncio.to_thread(find_run, self.sources.store, self.run.run_id)
            await self.tell()
            self.fill()
            if not self.run.live:
                timer.deactivate()
                self.close()

        timer = ui.timer(EVERY, look)
        ui.context.client.on_delete(self.close)

    def close(self) -> None:
        """Let go of the streams."""
        for growing in self.growing.values():
            growing.close()


def _again(place: ui.element, show: Callable[[], None]) -> None:
    place.clear()
    with place:
        show()


def _answer(run: RunFound, masker: Masker) -> None:
    record = run.record
    if record is not None and record.answer is not None:
        _text(masker.data(record.answer))
    elif run.live:
        el("p", "Not yet.", "muted")
    else:
        el("p", "There is none.", "muted")


def _text(text: str) -> None:
    """A long text, folded where it would push all else away."""
    shown, left = folded(text, SHOWN)
    if not text:
        el("p", "It is empty.", "muted")
    elif len(shown) <= OPEN:
        el("pre", shown, "text")
    else:
        with el("details", None, "text"):
            with el("summary"):
                el("span", f"{shown[:OPEN].rstrip()} …", "preview")
                el("span", f"All of it: {len(text):,} characters", "more")
            el("pre", shown)
    if left:
        el("p", f"{left:,} more characters are in the record.", "muted small")
