"""Processes that cannot be mistaken for others: a number is reused, a number with its start time and boot is not."""

from __future__ import annotations

import functools
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import psutil

from atomic.processes import portable, proc

SYSTEM = proc if proc.AVAILABLE else portable


@dataclass(frozen=True, slots=True)
class ProcessId:
    """A process that cannot be mistaken for a later one with the same number.

    ``start_time`` is what the system counts in: clock ticks since the boot on Linux, seconds since the epoch
    elsewhere. It is compared for equality only, and only within one boot.
    """

    pid: int
    start_time: float


def is_alive(process: ProcessId) -> bool:
    """Whether this very process runs: not one that got its number later, and not a zombie."""
    found = SYSTEM.look(process.pid)
    return found is not None and found.start_time == process.start_time and not found.zombie


def identify(pid: int) -> ProcessId | None:
    """The process that has this number now (a zombie too); None when there is none."""
    found = SYSTEM.look(pid)
    return None if found is None else ProcessId(pid, found.start_time)


def own_id() -> ProcessId:
    """This process."""
    return _identified(os.getpid())


@functools.lru_cache(maxsize=1)
def _identified(pid: int) -> ProcessId:
    found = identify(pid)
    assert found is not None, "a running process finds itself"
    return found


@functools.cache
def boot_id() -> str:
    """What tells this boot of this machine from every other. Where numbers of processes are counted apart (containers)
    their space is part of it, since a number of one says nothing about another."""
    try:
        space = Path("/proc/self/ns/pid").readlink()
        return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()}/{space}"
    except OSError:
        pass
    try:
        command = ["sysctl", "-n", "kern.bootsessionuuid"]
        return subprocess.run(command, capture_output=True, text=True, timeout=5, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return f"boot at {psutil.boot_time():.0f}"
