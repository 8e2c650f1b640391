"""`trust`: let a project's file decide what can run programs or send data."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.output import BOLD, DIM, GREEN, paint, say


def trust(
    file: Annotated[Path | None, typer.Argument(help="The file; default: the project's, here or above.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Trust a project's settings, in exactly the content they have now.

    Shows what in the file can run programs or send data. A file that changes later is asked about again.
    """
    from atomic.errors import SettingsError, UsageError
    from atomic.settings import FILE_NAME, Settings, claims_of, find_home, find_project_file, is_trusted, read_file
    from atomic.settings import trust_file as remember
    from atomic.settings.problems import check
    from atomic.text import one_line, printable

    home = find_home()
    found = file or find_project_file(Path(), home)
    if found is None:
        raise SettingsError(f"there is no {FILE_NAME} here or above", hint="name the file: atomic-flows trust FILE")
    layer = read_file(found)
    check(Settings, layer)
    claims = claims_of(layer)
    name = printable(str(found))
    if not claims:
        say(f"{name}: nothing in it can run programs or send data; it needs no trust")
        return
    if is_trusted(layer, home):
        say(f"{name}: already trusted")
        return
    say(f"{paint(name, BOLD)} would decide:")
    for claim in claims:
        where = f"line {claim.line}" if claim.line else ""
        say(f"  {paint(where, DIM):>8}  {printable(claim.key)} = {one_line(repr(claim.value), 400)}")
        say(f"            {paint(claim.effect, DIM)}")
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError("nobody is there to ask: stdin is no terminal", hint="give --yes if you looked at it")
        if not typer.confirm("Trust it in exactly this content?", err=True):
            say("not trusted")
            raise typer.Exit(1)
    remember(layer, home)
    say(f"{paint('trusted', GREEN)} {name}")
