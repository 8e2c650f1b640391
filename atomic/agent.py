"""The agent: which program it is, and how it is called, the same way for every model of a policy."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from atomic.agent_package import find_package
from atomic.errors import AgentNotFound, UsageError
from atomic.models import ModelRef
from atomic.processes import MARKER
from atomic.text import MASK, Masker

DEFAULT_COMMANDS = ("atomic", "pi")  # looked for on PATH in this order
SCRIPTED = "scripted"  # `--agent scripted`: the scripted agent of this package, for demos and tests
# -P: the folder it works in, which may be a stranger's, is no place to import from.
_SCRIPTED_MODULE = ("-P", "-m", "atomic.scripted")

# Variables of this toolkit and of Prefect that no agent should see: an agent that runs either itself would take them
# for its own.
_OWN_VARIABLES = ("ATOMIC_FLOWS_", "PREFECT_")
_KEY_FLAG = "--api-key"


@dataclass(frozen=True, slots=True)
class Agent:
    """How the agent is called. ``command`` is the program and what belongs to it (``node cli.js``); empty means the
    default. ``settings`` are laid over the agent's own ``settings.json`` for each attempt, in a folder made for it.
    Values of ``env`` and ``settings`` may be secret: they show in no repr."""

    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    approve: bool | None = None  # whether the agent trusts the project's own settings; None: as it decides itself
    leftover: Literal["kill", "keep"] = "kill"  # what becomes of processes that a tool left running at a normal end
    may_stay: tuple[str, ...] = ()  # names of processes that may stay all the same: build daemons
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def parse(cls, text: str) -> Agent:
        """An agent from one line as a shell reads it: ``"node cli.js"``, or ``"scripted"``. Names of files that are
        there become whole paths, since the agent works in another folder. Raises UsageError."""
        if text.strip() == SCRIPTED:
            return cls(command=(sys.executable, *_SCRIPTED_MODULE))
        try:
            parts = shlex.split(text)
        except ValueError as error:
            raise UsageError(f"cannot read the agent's command {text!r}: {error}", hint="close the quotes") from error
        if not parts:
            raise UsageError("the agent's command is empty", hint="give a program: --agent 'node cli.js'")
        return cls(command=(parts[0], *_whole_paths(parts[1:])))

    def resolve(self) -> Agent:
        """The same agent with the program's whole path, from PATH of its own environment where it has one.
        Raises AgentNotFound."""
        names = self.command[:1] or DEFAULT_COMMANDS
        for name in names:
            found = shutil.which(name, path=self.env.get("PATH"))
            if found is not None:
                # Not the link's target: version managers put links there that look at their own name.
                return replace(self, command=(os.path.abspath(found), *self.command[1:]))  # noqa: PTH100
        raise _not_found(self.command)

    def argv(self, *, model: ModelRef | None, session: Path) -> tuple[str, ...]:
        """The command line of one session. The prompt is not in it: it comes by stdin, whatever its size and first
        character."""
        named = () if model is None else ("--model", str(model))
        trust = {None: (), True: ("--approve",), False: ("--no-approve",)}[self.approve]
        return (*self.command, "--mode", "json", *named, "--session", str(session), *trust, *self.args)

    def environment(self, marker: str, base: Mapping[str, str] | None = None) -> dict[str, str]:
        """The environment of one session: this process's (or ``base``) without what is not meant for an agent, with
        the agent's own variables laid over it, and the marker of the attempt."""
        base = os.environ if base is None else base
        passed = {name: value for name, value in base.items() if not name.startswith(_OWN_VARIABLES)}
        return {**passed, **self.env, MARKER: marker}

    @property
    def version(self) -> str | None:
        """What the ``package.json`` of the agent's script says; None where there is none. Starts no process."""
        package = find_package(self.command)
        return None if package is None else package.version

    @property
    def scripted(self) -> bool:
        """Whether this is the scripted agent of this package, which asks no provider whatever a model is called."""
        return self.command[1:4] == _SCRIPTED_MODULE


def masked(argv: Sequence[str], masker: Masker) -> tuple[str, ...]:
    """A command line that may be shown and kept: without the value of ``--api-key``, and without known secrets."""
    shown: list[str] = []
    for before, argument in zip(("", *argv), argv, strict=False):
        flag, equals, value = argument.partition("=")
        if before == _KEY_FLAG:
            shown.append(MASK if argument else "")
        elif flag == _KEY_FLAG and equals:
            shown.append(f"{flag}={MASK}" if value else argument)
        else:
            shown.append(masker(argument))
    return tuple(shown)


def _whole_paths(arguments: list[str]) -> tuple[str, ...]:
    """The arguments, with names of files that are there made whole; what follows ``-m`` names no file."""
    previous = ["", *arguments]
    return tuple(
        # Not by `Path`, which refuses arguments that are longer than names may be.
        os.path.abspath(argument) if before != "-m" and os.path.isfile(argument) else argument  # noqa: PTH100, PTH113
        for before, argument in zip(previous, arguments, strict=False)
    )


def _not_found(command: tuple[str, ...]) -> AgentNotFound:
    if not command:
        return AgentNotFound(
            "no agent found: neither atomic nor pi is on PATH",
            hint="install one (npm install -g @mariozechner/pi-coding-agent), name its command in [agent] of the "
            "settings or by --agent, or try --agent scripted",
            command=(),
        )
    return AgentNotFound(
        f"no agent found: {command[0]!r} is not a program on PATH, nor an executable file",
        hint="check [agent] command in the settings, or --agent; --agent scripted needs no installation",
        command=command,
    )
