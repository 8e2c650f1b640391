"""`explain` and `record cat`: what there is of a run, and why it ended as it did."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import completion
from flows.cli.output import BOLD, DIM, GREEN, RED, YELLOW, page, paint, say, write, write_json

if TYPE_CHECKING:
    from atomic.record import AttemptFolder
    from atomic.text import Masker
    from atomic.verdict import Verdict

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
    """Say why a session got its verdict: the kind, and the events that decided it."""
    from atomic.verdict import explanation
    from atomic.verdict.masked import masked

    read, title, masker = _of_file(Path(what), exit_code, stderr) if _is_stream(what) else _of_run(what, config)
    verdict = masked(read, masker)
    if as_json:
        write_json(explanation(verdict))
    else:
        page(_reasons(title, verdict))


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

    attempts, _, masker = _find(run, config)
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


def _of_file(stream: Path, exit_code: int | None, stderr: Path | None) -> tuple[Verdict, str, Masker]:
    from atomic.agent import Agent
    from atomic.errors import PlaceError
    from atomic.session import masker_for
    from atomic.verdict import read_verdict

    if stderr is not None and not stderr.is_file():
        raise PlaceError(f"{stderr}: no such file", path=str(stderr), reason="missing")
    return read_verdict(stream, exit_code=exit_code, stderr=stderr or ""), str(stream), masker_for(Agent())


def _of_run(what: str, config: Path | None) -> tuple[Verdict, str, Masker]:
    """The verdict of an attempt, read anew from its stream; without a number, of the last one."""
    from atomic.errors import PlaceError, RecordDamaged
    from atomic.text import printable
    from atomic.verdict import read_verdict
    from atomic.verdict.checked import checked

    attempts, run_id, masker = _find(what, config)
    if not attempts:
        raise RecordDamaged(f"run {run_id} has no attempt", hint="it ended before its first one", path=what)
    attempt = attempts[-1]
    title = f"{run_id}/{attempt.n}"
    try:
        record = attempt.read()
    except RecordDamaged as error:
        say(f"{paint('warning', YELLOW)} {printable(error.message)}; this is what the stream alone says")
        return read_verdict(attempt.stream, stderr=attempt.stderr), title, masker
    title += f" · {record.model or 'the agent’s own model'}"
    try:
        verdict = read_verdict(
            attempt.stream,
            exit_code=record.exit_code,
            stderr=attempt.stderr,
            stopped=record.verdict.stopped if record.verdict else None,
        )
        return checked(verdict, record.verdict.check if record.verdict else None), title, masker
    except PlaceError:  # there is no stream: the agent was never started
        if record.verdict is None:
            raise RecordDamaged(f"{attempt.path} holds no stream", path=str(attempt.path)) from None
        return record.verdict, title, masker


def _find(text: str, config: Path | None) -> tuple[list[AttemptFolder], str, Masker]:
    """The attempts that RUN or RUN/N names, the run's id, and what hides secrets. Raises RunNotFound, UsageError."""
    from atomic.record.cat import find_attempts
    from atomic.runner import open_store
    from atomic.session import masker_for
    from atomic.settings import load_settings

    settings = load_settings(config=config)
    folder, attempts = find_attempts(open_store(settings), text)
    return attempts, folder.run_id, masker_for(settings.agent.agent())


def _fit_for_eyes(masker: Masker) -> Callable[[bytes], bytes]:
    """What makes of a raw line one that may be shown."""
    from atomic.record.redact import HEADERS, without_headers

    return lambda line: masker.raw(without_headers(line) if HEADERS in line else line)


def _reasons(title: str, verdict: Verdict) -> list[str]:
    from atomic.text import one_line, printable
    from flows.cli.verdict_lines import MESSAGE, check_lines, evidence_lines, warning_lines, work_lines

    def out(text: str, *codes: str) -> str:
        return paint(text, *codes, stream=sys.stdout)

    said = out("answered", GREEN, BOLD) if verdict.answered else out(f"failed: {verdict.kind}", RED, BOLD)
    lines = [f"{said}  {out(printable(title), DIM)}"]
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
