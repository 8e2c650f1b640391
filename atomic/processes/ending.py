"""Ending processes: the agent first and kindly, then everything that belongs to its attempt."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

import psutil

from atomic.processes.child import GRACE, LAST_WAIT
from atomic.processes.ids import ProcessId, identify, is_alive
from atomic.processes.kin import Kin, find, with_descendants
from atomic.processes.proc import Process
from atomic.processes.steady import Steady

_FIRST_PAUSE = 0.001  # between the rounds of a sweep; it doubles
_LONGEST_PAUSE = 0.1
_LOOKS = 3  # at a process that shows no environment: one that becomes another program shows it a moment later


class Swept(NamedTuple):
    """What a sweep came to: the processes it ended, those it let be (they may stay), those that would not go."""

    ended: tuple[ProcessId, ...]
    stayed: tuple[ProcessId, ...]
    survived: tuple[ProcessId, ...]


def signal_process(process: ProcessId, number: signal.Signals) -> bool:
    """Send a signal to this very process. Returns False when it has ended, or may not be signalled."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError, NotImplementedError):
        descriptor = None
    try:
        if identify(process.pid) != process:
            return False
        if descriptor is None:
            os.kill(process.pid, number)
        else:
            # What the descriptor stands for was this process a moment ago, and is nothing else now.
            signal.pidfd_send_signal(descriptor, number)
        return True
    except OSError:
        return False
    finally:
        if descriptor is not None:
            os.close(descriptor)


async def stop(process: ProcessId, steady: Steady, *, grace: float = GRACE) -> bool:
    """End a process that is no child of this one: SIGTERM, ``grace`` seconds, SIGKILL. (A child has its own ``stop``.)
    Bounded; returns whether it is gone."""
    loop = asyncio.get_running_loop()
    for number, seconds in ((signal.SIGTERM, grace), (signal.SIGKILL, LAST_WAIT)):
        if not signal_process(process, number):
            break
        until = loop.time() + seconds
        pause = _FIRST_PAUSE
        while is_alive(process) and loop.time() < until:
            await steady.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
    return not is_alive(process)


async def sweep(kin: Kin, steady: Steady, *, may_stay: Collection[str] = ()) -> Swept:
    """SIGKILL all that belongs to an attempt, in rounds, until a scan finds nothing more. ``may_stay``: names of
    processes that are let be, with all below them. Bounded: what hangs in the kernel is reported, not waited for."""
    loop = asyncio.get_running_loop()
    until = loop.time() + LAST_WAIT
    pause = _FIRST_PAUSE
    ended: dict[ProcessId, None] = {}
    looks: Counter[ProcessId] = Counter()
    while True:
        try:
            found = await steady.result(find(kin))
        except OSError:
            # No descriptor is left to look with: others will be closed soon, or this process is lost anyhow.
            if loop.time() > until:
                raise
            await steady.sleep(_LONGEST_PAUSE)
            continue
        _reap(found.zombies)
        stay = _stayers(found.members, may_stay)
        go = [ProcessId(row.pid, row.start_time) for row in found.members if row.pid not in stay]
        looks.update(found.unsure)
        waiting = any(looks[process] < _LOOKS for process in found.unsure)
        if not (go or waiting) or loop.time() > until:
            stayed = tuple(ProcessId(row.pid, row.start_time) for row in found.members if row.pid in stay)
            return Swept(tuple(process for process in ended if process not in go), stayed, tuple(go))
        for process in go:
            signal_process(process, signal.SIGKILL)
            ended[process] = None
        await steady.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)


def _reap(zombies: list[int]) -> None:
    for pid in zombies:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def _stayers(members: list[Process], may_stay: Collection[str]) -> set[int]:
    """The numbers of those that may stay, and of all below them: a build daemon's workers are its own affair."""
    if not may_stay:
        return set()
    named = {row.pid for row in members if _name(row.pid) in may_stay}
    return with_descendants({row.pid: row for row in members}, named)


def _name(pid: int) -> str:
    """The process's name, whole where the system cuts it at fifteen characters; empty when it has gone."""
    try:
        return psutil.Process(pid).name()
    except psutil.Error:
        return ""
