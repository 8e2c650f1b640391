"""Start a server's process and wait until it answers."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import httpx

from atomic.errors import ServerError
from flows.server.environment import server_environment
from flows.server.facts import EXIT_RUNNING, LOG, ServerInfo, read_info, who

START_LIMIT = 120.0  # seconds; a loaded machine has been seen to need 40
POLL = 0.05
LOG_LIMIT = 5_000_000  # bytes after which the log begins anew
HEALTH_TIMEOUT = 5.0  # seconds for one question; a busy server answers late


def launch(folder: Path, cache: Path, *, private: bool) -> subprocess.Popen[bytes]:
    """Start the process. It has its own session, so that Ctrl-C here does not end it, and prints into its log. ``-P``
    keeps modules of the working folder, which may be a stranger's, out of it."""
    log = folder / LOG
    if log.exists() and log.stat().st_size > LOG_LIMIT:
        log.unlink()
    command = [sys.executable, "-P", "-m", "flows.server.child", str(folder), str(cache), "--started-by", who()]
    with log.open("ab") as output:
        return subprocess.Popen(
            [*command, "--private"] if private else command,
            stdin=subprocess.PIPE if private else subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=server_environment(folder, cache, os.environ, private=private),
        )


def await_info(process: subprocess.Popen[bytes], folder: Path, deadline: float) -> ServerInfo | None:
    """What the new process writes about itself; None when another server of this folder was quicker. Raises
    ServerError when it ends without."""
    while time.monotonic() < deadline:
        info = read_info(folder)
        if info is not None and info.pid == process.pid and info.alive():
            return info
        code = process.poll()
        if code == EXIT_RUNNING:
            return None
        if code is not None:
            raise _failed(f"the Prefect server ended with {code} while it started", folder)
        time.sleep(POLL)
    raise _failed(f"the Prefect server did not begin to listen within {START_LIMIT:.0f} s", folder)


def await_health(info: ServerInfo, deadline: float) -> None:
    """Return once the server answers. Raises ServerError when it ends, or does not answer in time."""
    with httpx.Client(trust_env=False, timeout=HEALTH_TIMEOUT) as client:  # no proxy stands before this machine
        while True:
            if healthy(info.url, client):
                return
            if not info.alive():
                raise _failed("the Prefect server ended while it started", info.folder, url=info.url)
            if time.monotonic() > deadline:
                raise _failed("the Prefect server runs but does not answer", info.folder, url=info.url)
            time.sleep(POLL)


def healthy(url: str, client: httpx.Client) -> bool:
    """Whether the API at this URL says that it is well."""
    try:
        return client.get(f"{url}/health").status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False


def _failed(message: str, folder: Path, url: str | None = None) -> ServerError:
    log = folder / LOG
    hint = f"its log is {log}; `atomic-flows down` ends it; --direct does without"
    return ServerError(message, hint=hint, url=url, log=str(log))
