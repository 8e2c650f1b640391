"""The process table of systems without /proc, by psutil. On macOS the environments of some processes cannot be read,
and a scan takes tens of milliseconds, so that it belongs in a thread."""

from __future__ import annotations

import os

import psutil

from atomic.processes.proc import Process

INLINE = False


def look(pid: int) -> Process | None:
    """The process with this number; None when there is none."""
    try:
        return _row(psutil.Process(pid))
    except psutil.Error:
        return None


def processes(since: float = 0) -> dict[int, Process]:
    """All processes that started at ``since`` or later, by number."""
    found = {}
    for process in psutil.process_iter():
        try:
            row = _row(process)
        except psutil.Error:
            continue
        if row.start_time >= since:
            found[row.pid] = row
    return found


def environment(pid: int) -> bytes | None:
    """The environment of the process, as NUL-ended entries; None where it may not be read, or the process has gone."""
    try:
        entries = psutil.Process(pid).environ()
    except (psutil.Error, OSError):
        return None
    return b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in entries.items())


def _row(process: psutil.Process) -> Process:
    with process.oneshot():
        try:
            zombie = process.status() == psutil.STATUS_ZOMBIE
            return Process(process.pid, process.create_time(), process.ppid(), _session(process.pid), zombie)
        except psutil.ZombieProcess:
            return Process(process.pid, process.create_time(), 0, 0, True)


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return 0
