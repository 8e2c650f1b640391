"""The toolkit's own Prefect server: one for each home, started by whoever needs it first, shared, left running."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx
from filelock import FileLock

from atomic.errors import ServerError
from flows.server.ending import end
from flows.server.facts import START_LOCK, ServerInfo, cache_folder, installed_version, read_info, server_folder
from flows.server.starting import HEALTH_TIMEOUT, START_LIMIT, await_health, await_info, healthy, launch

_started: dict[int, subprocess.Popen[bytes]] = {}  # so that what this process started is reaped by it


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """The shared server of a home. ``info`` is the last one known, running or not."""

    info: ServerInfo | None
    running: bool
    healthy: bool


def ensure_server(home: Path, *, meanwhile: Callable[[ServerInfo], None] | None = None) -> ServerInfo:
    """The running server of this home; it is started where there is none, and two callers at once get the same one.

    ``meanwhile`` is called as soon as the address is known: a fresh start takes seconds, in which Prefect can be
    imported. Raises ServerError when the server does not start or answer, or is another version's.
    """
    deadline = time.monotonic() + START_LIMIT
    folder = server_folder(home)
    info = _running(folder) or _start(folder, cache_folder(home), deadline)
    if info.version != installed_version():
        raise ServerError(
            f"the running server is Prefect {info.version}, installed is {installed_version()}",
            hint="`atomic-flows down` stops it, and the next command starts the new one",
            url=info.url,
            log=str(info.log),
        )
    if meanwhile is not None:
        meanwhile(info)
    try:
        await_health(info, deadline)
    except ServerError:
        _reap(info)
        raise
    return info


def stop_server(home: Path) -> ServerInfo | None:
    """Stop the server of this home: politely, then by force. Returns the one that was stopped, None when none ran."""
    folder = server_folder(home)
    with FileLock(folder / START_LOCK):
        info = _running(folder)
        if info is None:
            return None
        end(info)
    _reap(info)
    return info


def server_status(home: Path) -> ServerStatus:
    """Whether a server of this home runs and answers. Starts nothing."""
    info = read_info(server_folder(home))
    if info is None or not info.alive():
        return ServerStatus(info, running=False, healthy=False)
    with httpx.Client(trust_env=False, timeout=HEALTH_TIMEOUT) as client:
        return ServerStatus(info, running=True, healthy=healthy(info.url, client))


def _running(folder: Path) -> ServerInfo | None:
    info = read_info(folder)
    return info if info is not None and info.alive() else None


def _start(folder: Path, cache: Path, deadline: float) -> ServerInfo:
    with FileLock(folder / START_LOCK, timeout=START_LIMIT):
        while True:
            if (info := _running(folder)) is not None:
                return info
            process = launch(folder, cache, private=False)
            _started[process.pid] = process
            if (info := await_info(process, folder, deadline)) is not None:
                return info
            # Another server holds the folder and has not written yet, or is about to end.
            _started.pop(process.pid).wait()


def _reap(info: ServerInfo) -> None:
    """Take leave of a server that has ended, where it was started by this process."""
    process = _started.get(info.pid)
    if process is not None and process.poll() is not None:
        del _started[info.pid]
