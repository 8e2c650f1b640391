"""`explain` and `record cat`: what there is of a run, and why it ended as it did."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import completion
from flows.cli.output import BOLD, CYAN, DIM, GREEN, RED, page, paint, say, write, write_json

if TYPE_CHECKING:
    from atomic.text import Masker
    from flows.cli.explained import Explained

Config = Annotated[Path | None, typer.Option("--config", help="Settings file in place of the project's.")]
SHOWN_ANSWER = 600  # characters of an answer that `explain` repeats


def explain(
    what: Annotated[
        str,
        typer.Argument(
            metavar="STREAM|RUN[/N]",
            help="A stream's file, or a run: id, its beginning, latest.",
            autocompletion=completion.streams,
        ),
    ],
    exit_code: Annotated[
        int | None, typer.Option("--exit-code", help="The agent's exit code, where one is known.")
    ] = None,
    stderr: Annotated[Path | None, typer.Option("--stderr", help="The file with the agent's stderr.")] = None,
    config: Config = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Say why a session got its verdict: the kind, and the events that decided it.

    Of a run: a line for each attempt, and its last one in detail. What is still on its way is told as far as it is.
    """
    from flows.cli.explained import of_file, of_run

    explained = of_file(Path(what), exit_code, stderr) if _is_stream(what) else of_run(what, config)
    if as_json:
        write_json(explained.to_json())
    else:
        page([*_attempts(explained), *_reasons(explained)])


def cat(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN[/N]",
            help="A run (id, its beginning, latest), or one attempt of it.",
            autocompletion=completion.runs,
        ),
    ],
    events: Annotated[
        list[str] | None, typer.Option("--events", "-e", metavar="TYPE", help="Only these events; may be repeated.")
    ] = None,
    config: Config = None,
) -> None:
    """Print the raw events of a run, byte for byte as the agent wrote them, attempt after attempt.

    On a terminal they come without control codes, headers and known secrets.
    """
    from atomic.record.cat import lines_of, type_of
    from atomic.text import printable
    from flows.cli.explained import find

    _, attempts, masker = find(run, config)
    shown = _fit_for_eyes(masker) if sys.stdout.isatty() else None
    wanted = {name for given in events or () for name in given.split(",")}
    seen: dict[str, int] = {}
    for attempt in attempts:
        for line in lines_of(attempt):
            if wanted:
                kind = type_of(line)
                seen[kind] = seen.get(kind, 0) + 1
                if kind not in wanted:
                    continue
            if not write(line if shown is None else shown(line)):
                return
    if wanted and not wanted & seen.keys():
        there = ", ".join(f"{printable(kind)} ({n})" for kind, n in sorted(seen.items()) if kind)
        say(f"no such events in it; there are: {there or 'none'}")


def _is_stream(what: str) -> bool:
    # Not by `Path`, which refuses names that are too long.
    return os.path.isfile(what) or os.path.isfile(f"{what}.zst")  # noqa: PTH113


def _fit_for_eyes(masker: Masker) -> Callable[[bytes], bytes]:
    """What makes of a raw line one that may be shown."""
    from atomic.record.redact import HEADERS, without_headers

    return lambda line: masker.raw(without_headers(line) if HEADERS in line else line)


def _out(text: str, *codes: str) -> str:
    return paint(text, *codes, stream=sys.stdout)


def _attempts(explained: Explained) -> list[str]:
    """A line for each attempt of a run that is more than one attempt, or not at its end."""
    from atomic.text import one_line
    from flows.cli.sentences import OWN_MODEL
    from flows.cli.verdict_lines import LINE

    run = explained.run
    if run is None or (len(run.attempts) < 2 and not explained.running):
        return []
    lines = []
    for one in run.attempts:
        what = "at work" if one.status is None else "answered" if one.status == "answered" else f"failed: {one.kind}"
        colour = CYAN if one.status is None else GREEN if one.status == "answered" else RED
        why = f"  {_out(one_line(one.message, LINE), DIM)}" if one.message else ""
        lines.append(f"attempt {one.n} · {one_line(one.model or OWN_MODEL)}  {_out(what, colour)}{why}")
    if explained.running and not explained.unfinished:
        lines.append(f"{_out('running', CYAN, BOLD)}  the run is between attempts; this is how the last one ended:")
    return [*lines, ""]


def _reasons(explained: Explained) -> list[str]:
    from atomic.text import one_line, printable
    from flows.cli.verdict_lines import MESSAGE, check_lines, evidence_lines, warning_lines, work_lines

    verdict, out = explained.verdict, _out
    if explained.unfinished:
        lines = [f"{out('running', CYAN, BOLD)}  {out(printable(explained.title), DIM)}", out("so far", BOLD)]
        return [*lines, *(f"  {line}" for line in work_lines(verdict))]
    said = out("answered", GREEN, BOLD) if verdict.answered else out(f"failed: {verdict.kind}", RED, BOLD)
    lines = [f"{said}  {out(printable(explained.title), DIM)}"]
    if verdict.message:
        lines.append(f"  {one_line(verdict.message, MESSAGE)}")
    if verdict.answered_by:
        lines.append(f"  by {printable(verdict.answered_by)}")
    if verdict.answer:
        what = "answer" if verdict.answered or verdict.complete else "text so far"
        lines.append(f"  {what}: {one_line(verdict.answer, SHOWN_ANSWER)}")
    if verdict.check:
        lines.append(out("check", BOLD))
    lines += [f"  {line}" for line in check_lines(verdict)]
    if verdict.evidence:
        lines.append(out("evidence", BOLD))
    lines += [f"  {line}" for line in evidence_lines(verdict)]
    lines.append(out("what happened", BOLD))
    lines += [f"  {line}" for line in work_lines(verdict)]
    return [*lines, *warning_lines(verdict.warnings)]
