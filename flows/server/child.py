"""The process of a Prefect server of ours: ``python -m flows.server.child FOLDER CACHE``.

It takes the life lock of its folder, a port, and writes both down before Prefect is imported, so that whoever waits
knows at once whom to ask. A private server ends with the process at the other end of its standard input, however that
ends, and removes its folder.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import sys
import threading
import time
from pathlib import Path

from filelock import FileLock, Timeout

from flows.server.facts import EXIT_RUNNING, HOST, LIFE_LOCK, read_info, write_own_info
from flows.server.schema import create_database

GRACE = 5  # seconds for requests under way when the server is stopped
DATABASE = "prefect.db"
BIND_TRIES = 5  # a killed server lets go of its port a moment after it counts as dead
BIND_PAUSE = 0.1


def main() -> None:
    """Serve until stopped."""
    parser = argparse.ArgumentParser(prog="python -m flows.server.child")
    parser.add_argument("folder", type=Path)
    parser.add_argument("cache", type=Path)
    parser.add_argument("--started-by", default="somebody")
    parser.add_argument("--private", action="store_true")
    given = parser.parse_args()
    folder: Path = given.folder
    os.chdir(folder)  # Prefect reads settings from files of the working folder
    lock = FileLock(folder / LIFE_LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        sys.exit(EXIT_RUNNING)
    if given.private:
        threading.Thread(target=_end_with_parent, args=(folder,), daemon=True).start()
    listener = _listen(folder)
    port = listener.getsockname()[1]
    os.environ["PREFECT_SERVER_API_PORT"] = str(port)
    write_own_info(folder, port, given.started_by)
    _serve(folder, given.cache, listener, private=given.private)


def _listen(folder: Path) -> socket.socket:
    """The port of the last time, which people have bookmarked; where it is taken, any that is free."""
    before = read_info(folder)
    for port in (*[before.port] * BIND_TRIES, 0) if before else (0,):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError:
            listener.close()
            time.sleep(BIND_PAUSE)
        else:
            return listener
    sys.exit(f"no port of {HOST} can be had")


def _serve(folder: Path, cache: Path, listener: socket.socket, *, private: bool) -> None:
    import uvicorn
    from prefect.server.api.server import create_app
    from prefect.settings import get_current_settings

    database = folder / DATABASE
    configured = get_current_settings().server.database.connection_url
    ours = configured is None or configured.get_secret_value() == f"sqlite+aiosqlite:///{database}"
    made = ours and not database.exists() and create_database(database, cache)
    if private and made:
        os.environ["PREFECT_API_DATABASE_MIGRATE_ON_START"] = "false"  # nothing is left to migrate
    app = create_app(ephemeral=private, final=True)
    config = uvicorn.Config(app, log_level="warning", lifespan="on", timeout_graceful_shutdown=GRACE)
    uvicorn.Server(config).run(sockets=[listener])


def _end_with_parent(folder: Path) -> None:
    """Standard input ends when nobody holds its other end any more."""
    while os.read(0, 1024):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)  # nothing is left that a slower end could save


if __name__ == "__main__":
    main()
