"""``/runs/ID/N``: what was said, with tool calls folded."""

from __future__ import annotations

import asyncio

from nicegui import ui

from atomic.text import Masker, one_line
from flows.cli.figures import count
from flows.dashboard.bodies import Body, Piece, read_bodies
from flows.dashboard.elements import el, link, moment
from flows.dashboard.layout import frame
from flows.dashboard.outline import Entry, Sort
from flows.dashboard.pages.run.asked import ask_attempt, positive
from flows.dashboard.pages.run.parts import show_attempt_head, show_pages, show_stderr
from flows.dashboard.records import AttemptFound, RunFound, find_run
from flows.dashboard.sources import Sources
from flows.dashboard.streams import Growing, Told, tell

PAGE = 50  # entries
EVERY = 1.0  # seconds between looks at a stream that grows
SOON = 0.8  # seconds the page waits for the outline: a long stream is told later
_TITLES = {
    Sort.PROMPT: "Prompt",
    Sort.ASSISTANT: "Assistant",
    Sort.TOOL: "Tool",
    Sort.RETRY: "Retry",
    Sort.COMPACTION: "Compaction",
    Sort.FALLBACK: "The agent changed the model",
    Sort.MODEL: "Model",
    Sort.NOTE: "Note",
}


def register(sources: Sources) -> None:
    """The page."""

    @ui.page("/runs/{run_id}/{number}")
    async def transcript_page(run_id: str, number: str) -> None:
        found = await ask_attempt(sources, run_id, number)
        if found is None:
            return
        asked, one = found
        first = positive(ui.context.client.request.query_params.get("from")) or 1
        view = _View(sources, asked.run, one, asked.masker, first)
        reading = asyncio.ensure_future(view.read())
        await asyncio.wait({reading}, timeout=SOON)
        with frame(f"Attempt {one.n} of {asked.run.run_id}", "/runs"):
            show_attempt_head(asked.run, one, asked.masker, "Transcript")
            view.show()
            show_stderr(one, asked.masker)
        if not reading.done() or one.status is None:
            view.follow(reading)


class _View:
    """The entries of one page of the transcript, and where they come from."""

    def __init__(self, sources: Sources, run: RunFound, one: AttemptFound, masker: Masker, first: int) -> None:
        self.sources, self.run, self.one, self.masker, self.first = sources, run, one, masker, first
        self.growing = Growing(one.folder) if one.folder is not None and one.status is None else None
        self.told: Told | None = None
        self.bodies: list[Body] = []
        self.shown: list[Body] = []
        self.boxes: list[ui.element] = []

    async def read(self) -> None:
        """Read the outline, and the bodies of this page's entries."""
        await asyncio.to_thread(self._read)

    def _read(self) -> None:
        folder = self.one.folder
        if folder is None:
            self.told = Told(problem="the attempt’s folder is gone")
            return
        told = self.growing.advance() if self.growing is not None else tell(folder)
        page = told.entries[self.first - 1 : self.first - 1 + PAGE]
        known = {body.entry: body for body in self.bodies}
        new = read_bodies(folder, [entry for entry in page if entry not in known], self.masker)
        known |= {body.entry: body for body in new}
        self.bodies = [known[entry] for entry in page]
        self.told = told

    def show(self) -> None:
        """Make the parts for the first time."""
        self.above = el("div")
        self.list = el("ol", None, "transcript", start=str(self.first))
        self.below = el("div")
        self.fill()

    def fill(self) -> None:
        """Show what there is now; entries that have not changed stay as they are, opened or not."""
        for at, body in enumerate(self.bodies):
            if at < len(self.shown) and self.shown[at] == body:
                continue
            if at >= len(self.boxes):
                with self.list:
                    self.boxes.append(el("li", None, f"entry {body.entry.sort.value}"))
            self.boxes[at].clear()
            with self.boxes[at]:
                _entry(self._base, body, self.masker)
        self.shown = list(self.bodies)
        self.below.clear()
        with self.below:
            self._foot()

    @property
    def _base(self) -> str:
        return f"/runs/{self.run.run_id}/{self.one.n}"

    def _foot(self) -> None:
        told = self.told
        if told is None:
            el("p", "Reading the stream …", "muted", role="status")
            return
        if self.one.status is None:
            el("p", "● The agent is at work: this page goes on by itself.", "muted running", role="status")
        for problem in _problems(told):
            el("p", problem, "warning")
        total, last = len(told.entries), min(self.first + PAGE - 1, len(told.entries))
        if total > PAGE or self.first > 1:
            earlier = f"{self._base}?from={max(self.first - PAGE, 1)}" if self.first > 1 else None
            later = f"{self._base}?from={self.first + PAGE}" if last < total else None
            show_pages(earlier, later, f"{self.first}–{last} of {total:,}")
        elif not total and not told.problem:
            el("p", "Nothing was said.", "muted")

    def follow(self, reading: asyncio.Future[None]) -> None:
        """Look again until the stream has ended."""

        async def look() -> None:
            await reading
            run = await asyncio.to_thread(find_run, self.sources.store, self.run.run_id)
            self.one = run.attempt(self.one.n) or self.one
            await self.read()
            self.fill()
            if self.one.status is not None or not run.live:
                timer.deactivate()
                self.close()

        timer = ui.timer(EVERY, look)
        ui.context.client.on_delete(self.close)

    def close(self) -> None:
        """Let go of the stream."""
        if self.growing is not None:
            self.growing.close()


def _problems(told: Told) -> list[str]:
    found = [told.problem] if told.problem else []
    if told.torn:
        found.append(f"The last line is torn: {told.torn:,} bytes of it are there.")
    if told.noise:
        found.append(f"{told.noise:,} lines are noise: they are among the raw events.")
    if told.left_out:
        found.append(f"{told.left_out:,} more entries are among the raw events.")
    return found


def _entry(base: str, body: Body, masker: Masker) -> None:
    entry = body.entry
    with el("div", None, "who"):
        el("h2", _title(entry, masker))
        if entry.failed:
            el("span", "failed", "bad")
        elif entry.failed is None:
            el("span", "not ended", "muted")
        if entry.at is not None:
            moment(entry.at, "muted small")
        if entry.tokens:
            el("span", f"{count(entry.tokens)} tokens", "muted small")
        link(f"line {entry.line}", f"{base}/events?line={entry.line}#e{entry.line}", "muted small where")
    if body.problem:
        el("p", body.problem, "warning")
    if entry.sort in {Sort.TOOL, Sort.COMPACTION} and body.pieces:
        with el("details"):
            el("summary", masker(one_line(entry.detail, 160)) or "what it gave")
            for piece in body.pieces:
                _piece(piece)
        return
    for piece in body.pieces:
        if piece.name == "thinking":
            with el("details"):
                el("summary", f"thinking, {len(piece.text) + piece.left:,} characters")
                _text(piece)
        else:
            _piece(piece)
    if not body.pieces and entry.detail:
        el("p", masker(entry.detail))


def _title(entry: Entry, masker: Masker) -> str:
    title = _TITLES[entry.sort]
    if entry.sort is Sort.PROMPT:
        return title
    if entry.sort in {Sort.RETRY, Sort.COMPACTION}:
        return masker(entry.name).capitalize()
    return f"{title} · {masker(entry.name)}" if entry.name else title


def _piece(piece: Piece) -> None:
    if piece.name:
        el("h3", piece.name, "piece")
    _text(piece)


def _text(piece: Piece) -> None:
    el("pre", piece.text, "bad" if piece.name == "error" else "")
    if piece.left:
        el("p", f"{piece.left:,} more characters are in the record.", "muted small")
