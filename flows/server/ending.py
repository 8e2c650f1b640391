"""Ending a process that was started to stay."""

from __future__ import annotations

import contextlib
import os
import signal
import time

from flows.server.facts import Started

STOP_GRACE = 10.0  # seconds for it to end by itself; twice what a server gives to open requests


def end(started: Started) -> None:
    """End it and wait for its end: politely, then by force."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(started.pid, sign)
        if _gone(started):
            break


def _gone(started: Started) -> bool:
    deadline = time.monotonic() + STOP_GRACE
    while started.alive():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
