"""`init`: a first settings file, from what is there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from atomic.agent import Agent
    from flows.first_settings import Found


def init(
    user: Annotated[bool, typer.Option("--user", help="Your own file, for all projects.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Write it even where there is one.")] = False,
    agent: Annotated[
        str | None, typer.Option("--agent", help="The agent's command, or `scripted`.", metavar="COMMAND")
    ] = None,
) -> None:
    """Write a commented atomic-flows.toml from the agent, the models and the keys that are found.

    No key is written down, only where one was found. The file's name goes to stdout.
    """
    from atomic.agent import SCRIPTED
    from atomic.errors import PlaceError
    from atomic.settings import FILE_NAME, claims_of, find_home, read_file, trust_file
    from flows.cli.output import page, say
    from flows.first_settings import look, render

    home = find_home()
    file = (home if user else _here()) / FILE_NAME
    if file.exists() and not force:
        raise PlaceError(f"{file} is there already", hint="--force writes it anew", path=str(file), reason="exists")
    program = _program(agent)
    command = () if agent is None else (SCRIPTED,) if program.scripted else program.command
    found = look(program)
    _write(file, render(found, command), force=force)
    if not user and claims_of(layer := read_file(file)):
        trust_file(layer, home)  # whoever had it written need not be asked about it
    for line in _told(found):
        say(line)
    page([str(file)])


def _here() -> Path:
    from atomic.errors import PlaceError

    try:
        return Path.cwd()
    except FileNotFoundError:
        raise PlaceError(
            "the working folder does not exist any more", hint="cd to one that does", path=".", reason="missing"
        ) from None


def _program(agent: str | None) -> Agent:
    """The agent that is named here, else by the settings; a file that cannot be read is about to be written anew."""
    from dataclasses import replace

    from atomic.agent import Agent
    from atomic.errors import UsageError
    from atomic.settings import load_settings

    try:
        own = load_settings().agent.agent()
    except UsageError:
        own = Agent()
    return own if agent is None else replace(own, command=Agent.parse(agent).command)


def _write(file: Path, text: str, *, force: bool) -> None:
    from atomic.record.files import make_folder, place_error

    make_folder(file.parent)
    try:
        with file.open("w" if force else "x", encoding="utf-8") as out:
            out.write(text)
    except OSError as error:
        raise place_error(error, file, "write") from error


def _told(found: Found) -> list[str]:
    import shlex

    from atomic.text import one_line
    from flows.cli.output import DIM, paint

    agent = "none" if found.agent is None else shlex.join(found.agent.command)
    problem = f" ({found.problem})" if found.problem else ""
    keys = ", ".join(f"{name} by {source}" for name, source in (found.sources or {}).items())
    models = " → ".join(map(str, found.models))
    rows = {
        "agent": f"{agent}{problem}",
        "keys": keys or "none; set ANTHROPIC_API_KEY, OPENAI_API_KEY or another, or log in with the agent",
        "models": models or "none; the file has examples",
        "next": "atomic-flows doctor",
    }
    return [f"{paint(name.ljust(6), DIM)}  {one_line(text, 400)}" for name, text in rows.items()]
