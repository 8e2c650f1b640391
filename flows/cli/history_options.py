"""The options by which runs are chosen, the same for every command of the history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import completion

if TYPE_CHECKING:
    from flows.history import RunFilter

Status = Annotated[
    list[str] | None, typer.Option("--status", "-s", help="running, answered or failed; may be repeated.")
]
Kind = Annotated[
    list[str] | None, typer.Option("--kind", "-k", help="A kind of failure, of the run or of one of its attempts.")
]
Model = Annotated[
    list[str] | None,
    typer.Option(
        "--model", "-m", help="A model that was asked or answered: openai/*.", autocompletion=completion.models
    ),
]
Provider = Annotated[list[str] | None, typer.Option("--provider", help="A provider that was asked or answered.")]
Tag = Annotated[list[str] | None, typer.Option("--tag", "-t", help="A tag; of several, all.")]
Batch = Annotated[str | None, typer.Option("--batch", "-b", help="The batch it is of.")]
Edition = Annotated[str | None, typer.Option("--edition", "-e", help="The edition of a batch.")]
Name = Annotated[str | None, typer.Option("--name", "-n", help="The name, or a pattern: triage-*.")]
AnsweredBy = Annotated[str | None, typer.Option("--answered-by", help="The model that answered, or a pattern.")]
Hopped = Annotated[
    bool | None,
    typer.Option("--hopped/--not-hopped", help="Answered by another than the first model, or not.", show_default=False),
]
Since = Annotated[str | None, typer.Option("--since", metavar="WHEN", help="2026-12-01, 2026-12-01T08:30, 12h, 2d …")]
Until = Annotated[str | None, typer.Option("--until", metavar="WHEN", help="The same; a day counts whole.")]
Text = Annotated[
    str | None, typer.Option("--text", help="What is in its id in the batch, name, message or the prompt's beginning.")
]


def asked_for(
    *,
    status: list[str] | None = None,
    kind: list[str] | None = None,
    model: list[str] | None = None,
    provider: list[str] | None = None,
    tag: list[str] | None = None,
    batch: str | None = None,
    edition: str | None = None,
    name: str | None = None,
    answered_by: str | None = None,
    hopped: bool | None = None,
    since: str | None = None,
    until: str | None = None,
    text: str | None = None,
) -> RunFilter:
    """The filter that these options mean. Raises UsageError for a status, a kind or a moment that there is not."""
    from typing import get_args

    from atomic.failures import FailureKind
    from atomic.record import RunStatus
    from flows.cli import moments
    from flows.history import RunFilter

    return RunFilter(
        status=tuple(one_of("status", one, get_args(RunStatus)) for one in status or ()),
        kind=tuple(one_of("kind", one.replace("-", "_"), tuple(FailureKind)) for one in kind or ()),
        model=tuple(model or ()),
        provider=tuple(provider or ()),
        tag=tuple(tag or ()),
        batch=batch,
        edition=edition,
        name=name,
        answered_by=answered_by,
        hopped=hopped,
        since=None if since is None else moments.since(since),
        until=None if until is None else moments.until(until),
        text=text or None,
    )


def one_of(what: str, text: str, known: tuple[str, ...]) -> str:
    """The text, where it is one of those that are known. Raises UsageError with the nearest."""
    from difflib import get_close_matches

    from atomic.errors import UsageError

    if text in known:
        return str(text)
    near = get_close_matches(text, known, n=1)
    raise UsageError(
        f"there is no {what} {text!r}",
        hint=f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}",
        nearest=near[0] if near else None,
    )
