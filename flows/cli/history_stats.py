"""`history stats`: what ran, what it cost, why it fell back; one day against another."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.cli import history_options as by
from flows.cli.output import page, say, write_json

SPAN = "30d"  # what a morning's look is about
ALL = "all"


def stats(
    day: Annotated[
        str | None, typer.Option("--day", metavar="DAY", help="Only this day: 2026-12-01, today, yesterday.")
    ] = None,
    against: Annotated[
        str | None, typer.Option("--against", metavar="DAY", help="Another day to compare --day with (today's).")
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
    since: Annotated[
        str, typer.Option("--since", metavar="WHEN", help="2026-12-01, 12h, 2d …; `all`: as far back as there is.")
    ] = SPAN,
    until: by.Until = None,
    text: by.Text = None,
    config: Annotated[Path | None, typer.Option("--config", help="Settings file in place of the project's.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Sum up runs: what came of them by day and kind, cost by model, hops, how long they took. Days are local ones."""
    import sys

    from flows.cli.histories import opened
    from flows.cli.stats_page import comparison_page, stats_page
    from flows.history.compare import compare, on_day
    from flows.history.summary import summary
    from flows.history.zones import local_zone

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
        since=None if since == ALL else since,
        until=until,
        text=text,
    )
    zone = local_zone()
    first = _day(day or ("today" if against else None))
    other = _day(against)
    with opened(config) as history:
        if first is not None and other is not None:
            compared = compare(history.database, first, other, zone, asked)
            lines, told = comparison_page(compared, sys.stdout), plain(compared)
        else:
            found = summary(history.database, asked if first is None else on_day(asked, first, zone), zone)
            lines, told = stats_page(found, sys.stdout), plain(found)
            if not (found.overview.runs or as_json):
                say("no such runs" if first or asked.given else "there are no runs yet")
                return
    if as_json:
        write_json(told)
    else:
        page(lines)


def plain(fact: Any) -> Any:
    """A fact as JSON has it: dataclasses as objects, days as texts; figures that follow from others with them."""
    from dataclasses import fields, is_dataclass

    if isinstance(fact, date):
        return fact.isoformat()
    if isinstance(fact, dict):
        return {key: plain(value) for key, value in fact.items()}
    if isinstance(fact, tuple):
        return [plain(one) for one in fact]
    if is_dataclass(fact):
        told = {field.name: plain(getattr(fact, field.name)) for field in fields(fact)}
        derived = ("tokens", "cache_share", "answered_share", "cost_per_answer")
        return told | {name: getattr(fact, name) for name in derived if hasattr(type(fact), name)}
    return fact


def _day(text: str | None) -> date | None:
    from datetime import datetime, timedelta

    from atomic.errors import UsageError
    from flows.history.zones import local_zone

    if text is None:
        return None
    today = datetime.now(local_zone()).date()
    named = {"today": today, "yesterday": today - timedelta(days=1)}
    try:
        return named.get(text.strip().lower()) or date.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(f"{text!r} is no day", hint="write 2026-12-01, today or yesterday") from None
