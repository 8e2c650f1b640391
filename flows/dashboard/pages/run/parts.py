"""What the pages of an attempt have in common: their head, and the way from page to page."""

from __future__ import annotations

from atomic.text import Masker
from flows.cli.figures import several
from flows.cli.spoken import spoken
from flows.dashboard.elements import el, link, pill
from flows.dashboard.outcomes import family_of, words
from flows.dashboard.pages.run.head import trail
from flows.dashboard.records import AttemptFound, RunFound, read_head
from flows.dashboard.text import OWN_MODEL, folded

STDERR = 20_000  # bytes of stderr that are shown


def show_attempt_head(run: RunFound, one: AttemptFound, masker: Masker, here: str) -> None:
    """Which attempt this is, what it came to, and the other ways to look at it."""
    base = f"/runs/{run.run_id}/{one.n}"
    trail(run, (f"Attempt {one.n}", base))
    el("h1", f"Attempt {one.n} · {masker(one.model or OWN_MODEL)}")
    with el("div", None, "verdict"):
        pill(family_of(one.status, one.kind), words(one.status, one.kind))
        if one.message:
            el("span", masker(folded(spoken(one.message), 600)[0]), "story")
    with el("nav", None, "tabs", aria_label="Ways to look at the attempt"):
        for name, path in (("Transcript", base), ("Raw events", f"{base}/events")):
            link(name, path, aria_current="page" if name == here else False)
        if one.stream_bytes is not None:
            link("Download the stream", f"{base}/stream.jsonl", download=True)


def show_stderr(one: AttemptFound, masker: Masker) -> None:
    """What the agent wrote to stderr, if anything. Blocks for one small read."""
    found = read_head(one.folder.stderr, STDERR) if one.folder is not None else None
    if found is None or not found[0]:
        return
    head, size = found
    with el("details", None, "stderr"):
        el("summary", f"stderr, {several(size, 'byte')}")
        el("pre", masker.data(head.decode("utf-8", "replace")))
        if size > len(head):
            el("p", f"{size - len(head):,} more bytes are in the record.", "muted small")


def show_pages(earlier: str | None, later: str | None, where: str) -> None:
    """The way to the page before and the page after."""
    with el("nav", None, "pages", aria_label="Pages"):
        if earlier is not None:
            link("← Earlier", earlier, rel="prev")
        el("span", where, "muted")
        if later is not None:
            link("Later →", later, rel="next")
