"""`history list` and `history show`: what the records say of runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import completion
from flows.cli.numbers import some
from flows.cli.output import page, say, write_json, write_json_line

if TYPE_CHECKING:
    from atomic.errors import RecordError
    from atomic.record import RunQuery

Config = Annotated[Path | None, typer.Option("--config", help="Settings file in place of the project's.")]
LIMIT = 20  # runs: what fits on a screen


def list_(
    limit: Annotated[
        int, typer.Option("--limit", "-l", parser=some, metavar="N", help="Show at most so many, the newest.")
    ] = LIMIT,
    status: Annotated[
        list[str] | None, typer.Option("--status", "-s", help="running, answered or failed; may be repeated.")
    ] = None,
    kind: Annotated[
        list[str] | None, typer.Option("--kind", "-k", help="A kind of failure, of the run or of one of its attempts.")
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model", "-m", help="A model that was asked or answered: openai/*.", autocompletion=completion.models
        ),
    ] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", "-t", help="A tag; of several, all.")] = None,
    name: Annotated[str | None, typer.Option("--name", "-n", help="The name, or a pattern: triage-*.")] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="WHEN", help="2026-12-01, 2026-12-01T08:30, 12h, 2d …")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="WHEN", help="The same; a day counts whole.")] = None,
    config: Config = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """List runs, the newest first: who answered, what failed, what it took."""
    from itertools import islice

    from atomic.record import find_runs
    from atomic.runner import open_store
    from atomic.session import masker_for
    from atomic.settings import load_settings
    from flows.cli.run_json import run_json
    from flows.cli.run_table import row_of, show_table

    query = _query(status, kind, model, tag, name, since, until)
    settings = load_settings(config=config)
    store = open_store(settings)
    found = islice(find_runs(store, query, on_damaged=_tell_damaged), limit)
    if as_json:
        for run in found:
            if not write_json_line(run_json(run, store)):
                return
        return
    masker = masker_for(settings.agent.agent())
    rows = [row_of(run, store, masker) for run in found]
    if rows:
        show_table(rows, sys.stdout)
    else:
        say("no such runs" if query.given else "there are no runs yet")


def show(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="A run: id, its beginning, latest.", autocompletion=completion.runs)
    ],
    config: Config = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Show all that is known of a run: its attempts, what decided them, what they took, where their files are."""
    from atomic.errors import RecordError
    from atomic.record import AttemptRecord
    from atomic.runner import open_store
    from atomic.session import masker_for
    from atomic.settings import load_settings
    from flows.cli.run_json import whole_run_json
    from flows.cli.run_page import run_page

    settings = load_settings(config=config)
    store = open_store(settings)
    folder = store.find(run)
    record = folder.read()
    attempts: list[AttemptRecord] = []
    for attempt in folder.attempts():
        try:
            attempts.append(attempt.read())
        except RecordError as error:
            _tell_damaged(error)
    try:
        prompt = folder.prompt
    except RecordError as error:
        _tell_damaged(error)
        prompt = b""
    masker = masker_for(settings.agent.agent())
    if as_json:
        write_json(whole_run_json(record, attempts, masker.data(prompt.decode("utf-8", "replace")), store))
    else:
        page(run_page(record, attempts, prompt, store, masker))


def _query(
    status: list[str] | None,
    kind: list[str] | None,
    model: list[str] | None,
    tag: list[str] | None,
    name: str | None,
    since: str | None,
    until: str | None,
) -> RunQuery:
    from typing import cast, get_args

    from atomic.failures import FailureKind
    from atomic.record import RunQuery, RunStatus
    from flows.cli import moments

    statuses = [cast("RunStatus", _one_of("status", text, get_args(RunStatus))) for text in status or ()]
    return RunQuery(
        statuses=tuple(statuses),
        kinds=tuple(FailureKind(_one_of("kind", text.replace("-", "_"), tuple(FailureKind))) for text in kind or ()),
        models=tuple(model or ()),
        tags=tuple(tag or ()),
        name=name,
        since=None if since is None else moments.since(since),
        until=None if until is None else moments.until(until),
    )


def _one_of(what: str, text: str, known: tuple[str, ...]) -> str:
    from difflib import get_close_matches

    from atomic.errors import UsageError

    if text in known:
        return text
    near = get_close_matches(text, known, n=1)
    raise UsageError(
        f"there is no {what} {text!r}",
        hint=f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}",
        nearest=near[0] if near else None,
    )


def _tell_damaged(error: RecordError) -> None:
    from atomic.text import one_line
    from flows.cli.output import YELLOW, paint

    say(f"{paint('damaged:', YELLOW)} {one_line(error.message, 500)}")
