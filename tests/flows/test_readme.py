"""What the README shows is so: its programs run as they are written, its settings load, its commands are there."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from atomic.agent import Agent
from atomic.settings import load_settings
from flows.cli.app import app
from tests.agents import closing, message, opening, say
from tests.flows.prefect_server import Place

README = (Path(__file__).parents[2] / "README.md").read_text()
# Runs a program of the README: one may await where Python's own prompt could, and a flow is called.
RUNNER = """\
import ast, asyncio, importlib, inspect, sys

source = open("shown.py").read()
code = compile(source, "shown.py", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
if code.co_flags & inspect.CO_COROUTINE:
    scope = {"__name__": "shown"}
    asyncio.run(eval(code, scope))
else:
    shown = importlib.import_module("shown")
    flows = [found for found in vars(shown).values() if getattr(found, "fn", None)]
    for flow in [found for found in flows if found.fn.__module__ == "shown"]:
        print(asyncio.run(flow()))
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


PROGRAMS = blocks("python")


def own_settings(place: Place) -> None:
    """A user's own settings, by which the models of the README are played by a script."""
    program = place.home / "agent.sh"
    spoken = {**message("Three risks."), "message": {**message("Three risks.")["message"], "provider": "openai"}}
    program.write_text(f"#!/bin/sh\n{say(*opening(), spoken, *closing())}")
    program.chmod(0o700)
    models = '["anthropic/claude-opus-4-5", "openai/gpt-5.2"]'
    (place.home / "atomic-flows.toml").write_text(
        f"[agent]\ncommand = [{json.dumps(str(program))}]\n[policy.default]\nmodels = {models}\n"
    )
    (place.project / "repo").mkdir()
    (place.project / "stream.jsonl").write_text(
        "".join(json.dumps(record) + "\n" for record in (*opening(), message("", "error"), *closing()))
    )


@pytest.mark.parametrize("n", range(len(PROGRAMS)))
def test_a_program_runs_as_it_is_written(place: Place, n: int) -> None:
    own_settings(place)
    (place.project / "shown.py").write_text(PROGRAMS[n])
    done = subprocess.run(
        [sys.executable, "-c", RUNNER], capture_output=True, text=True, cwd=place.project, env=place.environment()
    )
    assert done.returncode == 0, done.stderr
    assert "Three risks." in done.stdout
    (run,) = place.runs()
    assert run.status == "answered"


def test_there_are_programs_with_and_without_prefect() -> None:
    assert ["from flows" in program for program in PROGRAMS] == [False, True]


@pytest.mark.parametrize("text", blocks("toml"))
def test_its_settings_load(text: str, tmp_path: Path) -> None:
    file = tmp_path / "atomic-flows.toml"
    file.write_text(text)
    settings = load_settings(tmp_path, file, {"HOME": str(tmp_path)})
    assert settings.policies["default"]["models"]


# Commands

ROOT = typer.main.get_command(app)


def command_of(words: list[str]) -> tuple[object, list[str]] | None:
    """The command that the words begin with, and the words behind it."""
    at: object = ROOT
    rest = list(words)
    while rest and (inner := getattr(at, "commands", {}).get(rest[0])):
        at, rest = inner, rest[1:]
    return None if at is ROOT or hasattr(at, "commands") else (at, rest)


def options_of(command: object) -> set[str]:
    params: list[object] = getattr(command, "params", [])
    return {name for param in params for name in getattr(param, "opts", ())} | {"--help"}


def every_option(command: object) -> set[str]:
    inner = getattr(command, "commands", {}).values()
    return options_of(command).union(*(every_option(one) for one in inner))


def called() -> Iterator[str]:
    """The calls of `atomic-flows` in blocks and in code spans."""
    shells = "\n".join(blocks("sh"))
    yield from re.findall(r"atomic-flows ([^#\n]*)", shells)
    yield from re.findall(r"`atomic-flows ([^`]+)`", README)


def in_the_table() -> list[str]:
    """The commands of the table of commands."""
    table = README.partition("| command | what for |\n")[2].partition("\n\n")[0]
    assert table
    return [span.replace("\\|", "|") for row in table.splitlines() for span in re.findall(r"`([^`]+)`", row)]


@pytest.mark.parametrize("line", [*dict.fromkeys([*called(), *in_the_table()])])
def test_a_command_is_there_with_its_options(line: str) -> None:
    words = shlex.split(re.sub(r"[\[\]…]", " ", line))
    found = command_of(words)
    assert found is not None, line
    command, rest = found
    options = {word.partition("=")[0] for word in rest if re.match(r"--?[a-z]", word)}
    assert options <= options_of(command), line


def test_options_that_are_named_alone_are_those_of_some_command() -> None:
    of_the_agent = set(Agent(command=("pi",)).argv(model=None, session=Path())) | {"--model"}
    spans = re.findall(r"`(--[a-z][^`]*)`", README)
    named = {word for span in spans for word in shlex.split(span) if word.startswith("--")}
    assert named
    assert named <= every_option(ROOT) | of_the_agent
