"""`history export`, `history rebuild` and `history prune`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from flows.cli import history_options as by
from flows.cli.output import DIM, paint, say, write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flows.history.pruning import Doomed

Config = Annotated[Path | None, typer.Option("--config", help="Settings file in place of the project's.")]
STDOUT = Path("-")


def export(
    format_: Annotated[
        Literal["jsonl", "csv"], typer.Option("--format", "-f", help="Lines of JSON, or CSV without formulas.")
    ] = "jsonl",
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The file; - is stdout.")] = STDOUT,
    status: by.Status = None,
    kind: by.Kind = None,
    model: by.Model = None,
    provider: by.Provider = None,
    tag: by.Tag = None,
    batch: by.Batch = None,
    edition: by.Edition = None,
    name: by.Name = None,
    answered_by: by.AnsweredBy = None,
    hopped: by.Hopped = None,
    since: by.Since = None,
    until: by.Until = None,
    text: by.Text = None,
    config: Config = None,
) -> None:
    """Write runs down for other programs, the newest first."""
    from flows.cli.histories import opened
    from flows.history.exporting import csv_lines, json_lines

    asked = by.asked_for(
        status=status,
        kind=kind,
        model=model,
        provider=provider,
        tag=tag,
        batch=batch,
        edition=edition,
        name=name,
        answered_by=answered_by,
        hopped=hopped,
        since=since,
        until=until,
        text=text,
    )
    with opened(config) as history:
        lines = (csv_lines if format_ == "csv" else json_lines)(history.database, asked, history.masker)
        if output == STDOUT:
            for line in lines:
                if not write(line):
                    return
        else:
            _write_file(lines, output)


def _write_file(lines: Iterator[bytes], path: Path) -> None:
    """The whole file or none, by rename; a pipe or a device stays what it is and gets the lines as they come."""
    import os

    from atomic.errors import PlaceError
    from atomic.record.files import temporary
    from atomic.text import printable

    shown = printable(str(path))
    try:
        target = Path(os.path.realpath(path))  # a link stays too
        if target.exists() and not target.is_file():
            with target.open("wb") as file:
                file.writelines(lines)
        else:
            _replace(target, temporary(target), lines)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        message = f"cannot write {shown}: {reason}"
        hint = "name another file by --output; what was there before is as it was"
        raise PlaceError(message, hint=hint, path=str(path), reason=reason) from error
    say(f"written: {shown}")


def _replace(target: Path, unfinished: Path, lines: Iterator[bytes]) -> None:
    try:
        with unfinished.open("xb") as file:
            file.writelines(lines)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def rebuild(config: Config = None) -> None:
    """Make the history anew from the records alone: also where its database was deleted or is damaged."""
    from atomic.runner import open_store
    from atomic.session import masker_for
    from atomic.settings import load_settings
    from flows.cli.figures import several
    from flows.cli.histories import tell_damaged
    from flows.history.rebuilding import rebuild as rebuild_history

    settings = load_settings(config=config)
    n = rebuild_history(
        settings.history.url,
        settings.home,
        open_store(settings),
        masker_for(settings.agent.agent()),
        on_damaged=tell_damaged,
    )
    say(f"the history has {several(n, 'run')}, as the records say")


def prune(
    older_than: Annotated[
        str, typer.Option("--older-than", metavar="AGE", help="90d, 12h, or a moment: 2026-12-01.", show_default=False)
    ],
    status: by.Status = None,
    kind: by.Kind = None,
    model: by.Model = None,
    provider: by.Provider = None,
    tag: by.Tag = None,
    batch: by.Batch = None,
    edition: by.Edition = None,
    name: by.Name = None,
    answered_by: by.AnsweredBy = None,
    hopped: by.Hopped = None,
    since: by.Since = None,
    text: by.Text = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be removed, and remove nothing.")] = False,
    config: Config = None,
) -> None:
    """Remove old runs for good, their records and all that the history has of them. Their keys are free again; runs
    that have not ended stay, and those of a batch that is at work."""
    from flows.cli import moments
    from flows.cli.figures import several
    from flows.cli.histories import opened
    from flows.history.pruning import doomed
    from flows.history.pruning import prune as prune_runs

    before = moments.since(older_than)
    asked = by.asked_for(
        status=status,
        kind=kind,
        model=model,
        provider=provider,
        tag=tag,
        batch=batch,
        edition=edition,
        name=name,
        answered_by=answered_by,
        hopped=hopped,
        since=since,
        text=text,
    )
    from dataclasses import replace

    with opened(config) as history:
        found = doomed(history.database, history.store, replace(asked, until=before))
        _tell(found)
        if not found.ids or dry_run or not (yes or _agreed(found)):
            return
        n = 0
        for n in prune_runs(history.database, history.store, found.ids):  # noqa: B007 - told when all are gone
            pass
        say(f"removed: {several(n, 'run')}")


def _tell(found: Doomed) -> None:
    from flows.cli.figures import clock, several

    stay = [f"{found.running} that run, or whose batch does"] if found.running else []
    stay += [f"{found.elsewhere} whose records are elsewhere"] if found.elsewhere else []
    if found.ids and found.oldest is not None and found.newest is not None:
        span = f"{clock(found.oldest)} – {clock(found.newest)}"
        say(f"to be removed: {several(len(found.ids), 'run')}, {_size(found.bytes)}, {span}")
    else:
        say("nothing is to be removed")
    if stay:
        say(paint(f"what stays: {', '.join(stay)}", DIM))


def _agreed(found: Doomed) -> bool:
    import sys

    from atomic.errors import UsageError

    if not sys.stdin.isatty():
        raise UsageError("nobody can be asked here", hint="--yes removes them, --dry-run only says which")
    if typer.confirm(f"Remove {len(found.ids):,} for good?", err=True):
        return True
    say("nothing was removed")
    return False


def _size(size: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
