"""The processes of a run that is on its way, and how one of them is killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from collections.abc import Iterable
from pathlib import Path

import psutil

from atomic.processes import ProcessId, identify, is_alive, marked
from atomic.record import RunStore
from flows.server import server_status


def markers(store: RunStore) -> list[str]:
    """The markers that attempts of this home's runs have, from the names of their folders."""
    return [
        f"{folder.parent.name}/{folder.name.removeprefix('attempt-')}"
        for folder in Path(store.root).glob("*/*/*/*/attempt-*")
    ]


def of_attempts(store: RunStore) -> set[ProcessId]:
    """All that runs and carries the marker of an attempt of this home."""
    return {process for found in marked(markers(store)).values() for process in found if is_alive(process)}


def tree(command: subprocess.Popen[bytes]) -> set[ProcessId]:
    """All that runs below the command, whatever it carries."""
    try:
        below = psutil.Process(command.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return set()
    return {found for each in below if (found := identify(each.pid)) is not None and is_alive(found)}


def kill_one(command: subprocess.Popen[bytes], store: RunStore, dice: random.Random, *, server: bool) -> str:
    """Kill the command, an agent, a tool of one, or the local server: each sort as likely. Says which."""
    running = tree(command) | of_attempts(store)
    serving = _server(store) if server else None
    if serving is not None:
        running -= {serving}
    agents = {each for each in running if _parent(each) == command.pid}
    sorts = {"command": _alive([identify(command.pid)]), "agent": agents, "tool": running - agents}
    if serving is not None:
        sorts["server"] = _alive([serving])
    there = [name for name, found in sorts.items() if found]
    if not there:
        return "nothing"
    name = dice.choice(there)
    victim = dice.choice(sorted(sorts[name], key=lambda each: each.pid))
    try:
        os.kill(victim.pid, signal.SIGKILL)
    except ProcessLookupError:
        return f"{name}, gone"
    return name


def _server(store: RunStore) -> ProcessId | None:
    info = server_status(store.home).info
    return info.process if info is not None and info.alive() else None


def _alive(found: Iterable[ProcessId | None]) -> set[ProcessId]:
    return {each for each in found if each is not None and is_alive(each)}


def _parent(process: ProcessId) -> int | None:
    try:
        return psutil.Process(process.pid).ppid()
    except psutil.NoSuchProcess:
        return None
