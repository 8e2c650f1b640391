"""A Prefect server for one command, of which nothing stays: no process, no file."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock, Timeout

from flows.server.facts import LIFE_LOCK, ServerInfo, cache_folder
from flows.server.starting import START_LIMIT, await_health, await_info, launch

PREFIX = f"atomic-flows-{os.getuid()}-"
FRESH = 60.0  # seconds in which a folder without a lock may still be about to get one


class PrivateServer:
    """A server that ends with this process. Where that is killed, the server notices, ends, and removes its folder."""

    def __init__(self, process: subprocess.Popen[bytes], info: ServerInfo) -> None:
        self.info = info
        self._process = process
        atexit.register(self.close)

    def close(self) -> None:
        """End the server and wait for it. Can be called again."""
        atexit.unregister(self.close)
        assert self._process.stdin is not None
        self._process.stdin.close()  # what it waits for
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self.info.folder, ignore_errors=True)


def start_private(home: Path, *, meanwhile: Callable[[ServerInfo], None] | None = None) -> PrivateServer:
    """Start a server for this process alone. ``home`` lends its cache only. Raises ServerError."""
    remove_leftovers()
    deadline = time.monotonic() + START_LIMIT
    folder = Path(tempfile.mkdtemp(prefix=PREFIX)).resolve()
    process = launch(folder, cache_folder(home), private=True)
    try:
        info = await_info(process, folder, deadline)
        assert info is not None, "nobody else knows this folder"
        if meanwhile is not None:
            meanwhile(info)
        await_health(info, deadline)
    except BaseException:
        process.kill()
        process.wait()
        if process.stdin is not None:
            process.stdin.close()
        raise
    return PrivateServer(process, info)


def remove_leftovers() -> None:
    """Folders of private servers that were killed themselves."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(Timeout, OSError):
            if time.time() - folder.stat().st_mtime < FRESH:
                continue
            with FileLock(folder / LIFE_LOCK, timeout=0):
                shutil.rmtree(folder, ignore_errors=True)
