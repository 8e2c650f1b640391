"""A dashboard in the background, for `up`: started once for a home, found again, stopped by `down`."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import httpx
from filelock import FileLock

from atomic.errors import ServerError
from atomic.record.files import make_folder
from atomic.settings import Settings
from flows.dashboard.presence import FOLDER, LOG, START_LOCK, DashboardInfo, running_dashboard
from flows.server.ending import end

START_LIMIT = 60.0  # seconds; two are usual, and a loaded machine takes many times as long
POLL = 0.05
LOG_LIMIT = 1_000_000  # bytes after which the log begins anew
_started: dict[int, subprocess.Popen[bytes]] = {}  # so that what this process started is reaped by it


def ensure_dashboard(settings: Settings, config: Path | None = None) -> DashboardInfo:
    """The running dashboard of this home; it is started where there is none. Raises ServerError."""
    folder = settings.home / FOLDER
    make_folder(folder)
    with FileLock(folder / START_LOCK, timeout=START_LIMIT):
        info = running_dashboard(settings.home)
        return info if info is not None else _start(settings.home, folder, config)


def stop_dashboard(home: Path) -> DashboardInfo | None:
    """Stop the dashboard of this home, whoever started it; None when none ran."""
    info = running_dashboard(home)
    if info is not None:
        end(info)
        process = _started.pop(info.pid, None)
        if process is not None:
            process.wait()
    return info


def _start(home: Path, folder: Path, config: Path | None) -> DashboardInfo:
    log = folder / LOG
    if log.exists() and log.stat().st_size > LOG_LIMIT:
        log.unlink()
    command = [sys.executable, "-P", "-m", "flows.dashboard.child"]
    with log.open("ab") as output:
        process = subprocess.Popen(
            command if config is None else [*command, "--config", str(config)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=child_environment(os.environ),
        )
    _started[process.pid] = process
    deadline = time.monotonic() + START_LIMIT
    with httpx.Client(trust_env=False, timeout=START_LIMIT) as client:
        while time.monotonic() < deadline:
            info = running_dashboard(home)
            if info is not None and _answers(info, client):
                return info
            if process.poll() is not None:
                break
            time.sleep(POLL)
    raise ServerError("the dashboard did not start", hint=f"its log is {log}", log=str(log))


def child_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What a dashboard in the background is given: all of it, keys too, since it has to know them to hide them; not the
    mark of a session, which would make it a leftover of that session."""
    return {name: value for name, value in environ.items() if name != "ATOMIC_FLOWS_ATTEMPT"}


def _answers(info: DashboardInfo, client: httpx.Client) -> bool:
    try:
        return client.get(f"{info.url}/static/icon.svg").status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False
