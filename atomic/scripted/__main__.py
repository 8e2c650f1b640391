"""`python -m atomic.scripted`: read the command line and the prompt, then play."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from atomic.scripted.agent import Agent
from atomic.scripted.arguments import ArgumentError, Arguments, parse
from atomic.scripted.catalog import UNKNOWN, listing, read_name
from atomic.scripted.session_file import open_session
from atomic.scripted.wire import Wire, complain

USAGE = """Usage: python -m atomic.scripted --mode json --model scripted/NAME [options] < prompt
       python -m atomic.scripted --list

An agent that behaves as its model's name says. It takes the real agent's options."""
EXIT_TERMINATED = 143
EXIT_HUNG_UP = 129


def main(argv: Sequence[str]) -> int:
    """Run one session; returns the exit code."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the real agent dies of it, without a traceback
    signal.signal(signal.SIGTERM, lambda *_: os._exit(EXIT_TERMINATED))
    signal.signal(signal.SIGHUP, lambda *_: os._exit(EXIT_HUNG_UP))
    try:
        arguments = parse(argv)
        if (text := _information(arguments)) is not None:
            return _told(text)
        prompts = _prompts(arguments)
    except ArgumentError as error:
        complain(f"Error: {error}")
        return 1
    try:
        return _play(arguments, prompts)
    except BrokenPipeError:
        return 1


def _told(text: str) -> int:
    """Whether the text could be written, as an exit code: nobody may read it, the disk may be full."""
    try:
        os.write(1, f"{text}\n".encode())
    except OSError:
        return 1
    return 0


def _information(arguments: Arguments) -> str | None:
    if "--list" in arguments.options:
        return listing()
    if "--help" in arguments.options:
        return USAGE
    if "--version" in arguments.options:
        from importlib.metadata import version

        return version("atomic-flows")
    return None


def _prompts(arguments: Arguments) -> list[str]:
    """stdin, files and the first message make the first prompt; each further message is another."""
    if arguments.options.get("--mode") != "json":
        raise ArgumentError("The scripted agent speaks --mode json only")
    first = "" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.buffer.read().decode(errors="replace")
    for name in arguments.files:
        try:
            first += Path(name).read_text(errors="replace")
        except OSError:
            raise ArgumentError(f"File not found: {Path(name).absolute()}") from None
    return [first + "".join(arguments.messages[:1]), *arguments.messages[1:]]


def _play(arguments: Arguments, prompts: Sequence[str]) -> int:
    part = read_name(arguments.model[1]) or UNKNOWN
    session = open_session(arguments)
    if (folder := Path(session.header["cwd"])).is_dir():
        os.chdir(folder)
    agent = Agent(arguments, Wire(part.style), session, prompts[0])
    if not prompts[0]:
        agent.header()  # nothing to do is no error to the real agent either
        return 0
    code: int | None = 0
    for agent.prompt in prompts:
        code = part.behaviour.play(agent, part.parameter)
    return agent.exit_code if code is None else code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
