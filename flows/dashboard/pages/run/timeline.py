"""The attempts of a run, one below the other: what each came to, what decided it, and why the next was begun."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from nicegui import ui

from atomic.record import RunRecord
from atomic.text import Masker, one_line
from atomic.verdict import Verdict
from flows.cli.figures import count, duration, money, several
from flows.cli.spoken import spoken
from flows.dashboard.elements import el, link, moment, pill, set_text
from flows.dashboard.outcomes import family_of, words
from flows.dashboard.outline import Entry, Sort
from flows.dashboard.records import AttemptFound, RunFound, hop_reason
from flows.dashboard.streams import Told
from flows.dashboard.text import OWN_MODEL

MESSAGE = 600  # characters of a message or of a piece of evidence
MOST_EVIDENCE = 8
MOST_MARKS = 40
_SIGNS = {
    Sort.TOOL: "⚙",
    Sort.RETRY: "↻",
    Sort.COMPACTION: "⇲",
    Sort.FALLBACK: "⇢",
    Sort.MODEL: "◇",
    Sort.ASSISTANT: "✕",
    Sort.NOTE: "!",
}


class Timeline:
    """All attempts. Those that have not changed stay as they are, so that nobody who stands in one loses the place."""

    def __init__(self) -> None:
        self.none = el("p", None, "muted")
        self.list = el("ol", None, "attempts")
        self._boxes: dict[int, ui.element] = {}
        self._shown: dict[int, tuple[AttemptFound, tuple[Entry, ...] | None]] = {}
        self._progress: dict[int, ui.element] = {}

    def show(self, run: RunFound, told: Mapping[int, Told], masker: Masker) -> None:
        """Show what there is now. ``told`` are the outlines, by number, as far as they are there."""
        waiting = "No attempt has begun yet." if run.live else "No attempt was begun."
        set_text(self.none, "" if run.attempts else waiting)
        for one in run.attempts:
            if one.n not in self._boxes:
                with self.list:
                    if one.n > 1 and run.record is not None:
                        _hop(run, run.record, one)
                    self._boxes[one.n] = el("li", None, "attempt", id=f"attempt-{one.n}")
            tale = told.get(one.n)
            now = (replace(one, stream_bytes=None), tale.entries if tale else None)
            if self._shown.get(one.n) != now:
                self._shown[one.n] = now
                box = self._boxes[one.n]
                box.classes(replace=f"attempt {family_of(one.status, one.kind).name}")
                box.clear()
                with box:
                    self._progress[one.n] = _attempt(run, one, tale, masker)
            if one.status is None:
                set_text(self._progress[one.n], _at_work(one, tale))


def _hop(run: RunFound, record: RunRecord, one: AttemptFound) -> None:
    why = hop_reason(record, run.attempts, one.n) or "the next attempt"
    carried = one.record.carry if one.record else bool(one.summary and one.summary.carry)
    how = "goes on with what was done" if carried else "starts fresh"
    with el("li", None, "hop"):
        el("span", "↓", aria_hidden="true")
        el("span", f"{why}; {how}")


def _attempt(run: RunFound, one: AttemptFound, told: Told | None, masker: Masker) -> ui.element:
    """The inside of an attempt's box. Returns the line that says how it goes on."""
    family = family_of(one.status, one.kind)
    with el("div", None, "stack"):
        with el("div", None, "line"):
            el("h3", f"{one.n} · {masker(one.model or OWN_MODEL)}")
            pill(family, words(one.status, one.kind))
            _when(one)
        _bar(run, one)
        if one.message:
            el("p", masker(one_line(spoken(one.message), MESSAGE)), "message")
        if one.summary is not None and one.summary.retry_at is not None:
            with el("p", None, "muted"):
                el("span", "Not again before ")
                moment(one.summary.retry_at)
        verdict = one.record.verdict if one.record else None
        if verdict is not None:
            _evidence(run.run_id, one.n, verdict, masker)
        if told is not None:
            show_marks(f"/runs/{run.run_id}/{one.n}/events", told.entries, masker)
        progress = el("p", None, "muted small")
        if verdict is not None:
            el("p", _figures(verdict), "muted small")
            for warning in verdict.warnings:
                el("p", masker(warning), "warning")
        if one.folder is not None:
            _ways(run.run_id, one, told)
    return progress


def _at_work(one: AttemptFound, told: Told | None) -> str:
    parts = [duration(time.time() - one.record.started_at)] if one.record and one.record.started_at else []
    if told is not None:
        parts += [f"{told.lines:,} events", f"{count(told.tokens)} tokens"]
    return " · ".join(parts)


def _when(one: AttemptFound) -> None:
    if one.record is None or not one.record.started_at:
        return
    with el("span", None, "muted small"):
        moment(one.record.started_at)
        if one.record.ended_at is not None:
            el("span", f", {duration(one.record.ended_at - one.record.started_at)}")


def _bar(run: RunFound, one: AttemptFound) -> None:
    """When in the run it was: the words say it too."""
    if run.record is None or one.record is None or not one.record.started_at:
        return
    now = time.time()
    begin, end = run.record.created_at, run.record.ended_at or now
    whole = max(end - begin, 0.001)
    left = min(max((one.record.started_at - begin) / whole, 0.0), 1.0)
    width = min(max(((one.record.ended_at or now) - one.record.started_at) / whole, 0.0), 1.0 - left)
    with el("div", None, "track", aria_hidden="true"):
        bar = el("div", None, "bar-part")
        bar.style(f"margin-left:{left:.2%};width:{width:.2%}")


def _evidence(run_id: str, n: int, verdict: Verdict, masker: Masker) -> None:
    if not verdict.evidence or verdict.answered:
        return
    with el("div", None, "evidence"):
        el("h4", "Decided by")
        with el("ul"):
            for one in verdict.evidence[:MOST_EVIDENCE]:
                with el("li"):
                    if one.line:
                        label = f"{one_line(one.event, 60)}, line {one.line}"
                        link(label, f"/runs/{run_id}/{n}/events?line={one.line}#e{one.line}", "jump")
                    else:
                        el("span", f"{one_line(one.event, 60)}, outside the stream")
                    if one.text and one.text != verdict.message:
                        el("q", masker(one_line(one.text, MESSAGE)))


def show_marks(events: str, entries: Sequence[Entry], masker: Masker) -> None:
    """Tools, retries, compactions and changes of model, in order; each leads to its event."""
    groups = [list(group) for _, group in groupby(filter(is_mark, entries), key=_alike)]
    if not groups:
        return
    with el("ol", None, "marks", aria_label="What happened, in order"):
        for group in groups[:MOST_MARKS]:
            first = group[0]
            times = f" ×{len(group)}" if len(group) > 1 else ""
            text = f"{_SIGNS[first.sort]} {masker(one_line(_label(first), 48))}{times}{_state(first)}"
            classes = f"mark {first.sort.value} {'bad' if first.failed else ''}"
            with el("li"):
                detail = masker(one_line(first.detail, 200))
                link(text, f"{events}?line={first.line}#e{first.line}", classes, title=detail or False)
        if len(groups) > MOST_MARKS:
            el("li", f"and {len(groups) - MOST_MARKS} more", "muted small")


def is_mark(entry: Entry) -> bool:
    """Whether an entry is one that a timeline shows: what is not just a message that arrived."""
    if entry.sort in {Sort.ASSISTANT, Sort.NOTE}:
        return entry.failed is True
    return entry.sort is not Sort.PROMPT


def _alike(entry: Entry) -> tuple[object, ...]:
    return (entry.sort, entry.name, entry.failed) if entry.sort is Sort.TOOL else (entry.line,)


def _state(entry: Entry) -> str:
    if entry.sort in {Sort.ASSISTANT, Sort.NOTE}:
        return ""  # they are shown for their failure only
    return " not ended" if entry.failed is None else " failed" if entry.failed else ""


def _label(entry: Entry) -> str:
    if entry.sort is Sort.ASSISTANT:
        return "error"
    return entry.name or entry.sort.value


def _figures(verdict: Verdict) -> str:
    usage = verdict.usage
    parts = [several(verdict.turns, "turn"), several(verdict.tool_calls, "tool call")]
    if verdict.retries:
        parts.append(several(verdict.retries, "retry", "retries"))
    if verdict.compactions:
        parts.append(several(verdict.compactions, "compaction"))
    parts += [f"{count(usage.input)} tokens in", f"{count(usage.output)} out", money(verdict.cost_usd)]
    parts.append(f"exit code {'unknown' if verdict.exit_code is None else verdict.exit_code}")
    if verdict.stopped:
        parts.append(f"stopped by us: {verdict.stopped}")
    return " · ".join(parts)


def _ways(run_id: str, one: AttemptFound, told: Told | None) -> None:
    base = f"/runs/{run_id}/{one.n}"
    with el("p", None, "ways"):
        link("Transcript", base)
        link("Raw events", f"{base}/events")
        if one.stream_bytes is not None:
            link("Download the stream", f"{base}/stream.jsonl", download=True)
        if told is not None and told.problem:
            el("span", told.problem, "warning")
