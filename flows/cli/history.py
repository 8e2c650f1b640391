"""`history list` and `history show`: which runs there were, and all that is known of one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from flows.cli import completion
from flows.cli import history_options as by
from flows.cli.numbers import some
from flows.cli.output import DIM, page, paint, say, write_json, write_json_line

Config = Annotated[Path | None, typer.Option("--config", help="Settings file in place of the project's.")]
LIMIT = 20  # runs: what fits on a screen


def list_(
    limit: Annotated[
        int, typer.Option("--limit", "-l", parser=some, metavar="N", help="Show at most so many, the newest.")
    ] = LIMIT,
    after: Annotated[
        str | None, typer.Option("--after", metavar="RUN", help="Go on below this run, as the last page said.")
    ] = None,
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
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """List runs, the newest first: who answered, what failed, what it took."""
    from atomic.errors import RecordError
    from flows.cli.figures import clock
    from flows.cli.histories import opened, tell_damaged
    from flows.cli.run_json import run_json
    from flows.cli.run_table import row_of, show_table
    from flows.history import runs_page

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
        found = runs_page(history.database, asked, after=after, limit=limit)
        if as_json:
            for row in found.rows:
                try:
                    told = run_json(history.store.read(row.run_id), history.store)
                except RecordError as error:
                    tell_damaged(error)
                    continue
                if not write_json_line(told):
                    return
        elif found.rows:
            show_table([row_of(row, history.store, history.masker) for row in found.rows], sys.stdout)
        elif found.next is None:
            say("no such runs" if asked.given else "there are no runs yet")
    if found.looked_back_to is not None:
        say(f"looked back to {clock(found.looked_back_to)} for these; --since and other filters shorten the way")
    if found.next is not None:
        say(paint(f"there are more: --after {found.next}", DIM))


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
    from flows.cli.histories import tell_damaged
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
            tell_damaged(error)
    try:
        prompt = folder.prompt
    except RecordError as error:
        tell_damaged(error)
        prompt = b""
    masker = masker_for(settings.agent.agent())
    if as_json:
        write_json(whole_run_json(record, attempts, masker.data(prompt.decode("utf-8", "replace")), store))
    else:
        page(run_page(record, attempts, prompt, store, masker))
