"""One recorded run, whole, in lines for a person on stdout. All parts are cleaned."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence

from atomic.record import AttemptRecord, AttemptSummary, RunRecord, RunStore
from atomic.runner.recording import place_of
from atomic.text import Masker, one_line, printable
from flows.cli.figures import clock, count, duration, money, several
from flows.cli.output import BOLD, CYAN, DIM, GREEN, RED, paint
from flows.cli.sentences import OWN_MODEL
from flows.cli.spoken import spoken
from flows.cli.verdict_lines import MESSAGE, evidence_lines, warning_lines, work_lines

SHOWN = 600  # characters of prompt and answer; the whole of them is in the record


def run_page(
    run: RunRecord, attempts: Sequence[AttemptRecord], prompt: bytes, store: RunStore, masker: Masker
) -> list[str]:
    """The lines. ``attempts`` are those whose records can be read."""
    known = {attempt.n: attempt for attempt in attempts}
    lines = [*_head(run), *_facts(run, prompt, masker), *warning_lines(run.warnings)]
    for one in run.attempts:
        lines += ["", *_attempt(one, known.get(one.n))]
    look = f"atomic-flows explain {run.run_id}/N · atomic-flows record cat {run.run_id}/N"
    return [*lines, "", _fact("record", printable(place_of(store, run.run_id))), _fact("look", look)]


def _out(text: str, *codes: str) -> str:
    return paint(text, *codes, stream=sys.stdout)


def _fact(name: str, text: str) -> str:
    return f"  {_out(f'{name:<8}', DIM)}{text}"


def _head(run: RunRecord) -> Iterator[str]:
    if not run.ended:
        head = _out("running", CYAN, BOLD)
    elif run.status == "answered":
        head = f"{_out('✓ answered', GREEN, BOLD)} by {one_line(run.answered_by or OWN_MODEL)}"
    else:
        head = f"{_out('✗ failed:', RED, BOLD)} {_out(str(run.kind), RED)}"
    seconds = (run.ended_at or time.time()) - run.created_at
    figures = [several(len(run.attempts), "attempt"), duration(seconds), f"{count(run.usage.tokens)} tokens"]
    yield f"{head}  {_out(' · '.join([*figures, money(run.cost_usd)]), DIM)}"
    if run.message and run.status != "answered":
        yield f"  {one_line(run.message, MESSAGE * 2)}"


def _facts(run: RunRecord, prompt: bytes, masker: Masker) -> Iterator[str]:
    yield _fact("run", run.run_id)
    if run.name:
        yield _fact("name", one_line(masker(run.name)))
    if run.tags:
        yield _fact("tags", one_line(masker(", ".join(run.tags))))
    if run.key:
        yield _fact("key", one_line(masker(run.key)))
    yield _fact("when", clock(run.created_at) + ("" if run.ended_at is None else f" – {clock(run.ended_at)}"))
    yield _fact("in", one_line(run.cwd, SHOWN))
    yield _fact("prompt", _shown(masker(prompt.decode("utf-8", "replace"))))
    if run.answer is not None:
        yield _fact("answer", _shown(run.answer))
    if run.workspace is not None:
        yield _fact("space", f"{run.workspace.mode} of {one_line(run.workspace.top, SHOWN)}")
    if run.changes is not None:
        apply = f"  {_out(f'atomic-flows apply {run.run_id}', DIM)}" if run.changes.patch else ""
        yield _fact("changes", f"{run.changes}{apply}")


def _shown(text: str) -> str:
    line = one_line(text, SHOWN)
    return f"{line} {_out(f'({len(text):,} characters)', DIM)}" if line.endswith("…") else line


def _attempt(one: AttemptSummary, record: AttemptRecord | None) -> Iterator[str]:
    if one.status is None:
        came_to = _out("no verdict yet", CYAN)
    elif one.status == "answered":
        came_to = _out("answered", GREEN)
    else:
        came_to = _out(f"failed: {one.kind}", RED)
    carry = _out("  went on with what was done", DIM) if one.carry else ""
    yield f"{_out(f'attempt {one.n}', BOLD)} · {one_line(one.model or OWN_MODEL)}  {came_to}{carry}"
    if one.message:
        yield f"  {one_line(spoken(one.message), MESSAGE)}"
    if one.retry_at is not None:
        yield f"  not again before {clock(one.retry_at)}"
    if record is None:
        return
    began = f"  {clock(record.started_at)}"
    yield began if record.ended_at is None else f"{began}, {duration(record.ended_at - record.started_at)}"
    if record.verdict is not None:
        yield from (f"  {line}" for line in (*evidence_lines(record.verdict), *work_lines(record.verdict)))
    if record.changes is not None:
        patch = f"  {one.record}/{record.changes.patch}" if record.changes.patch else ""
        yield f"  {record.changes}{_out(patch, DIM)}"
    if record.stream is not None:
        kept = "redacted, " if record.redacted else ""
        yield f"  {one.record}/{record.stream.name}  {_out(f'{kept}sha256 {record.stream.sha256}', DIM)}"
