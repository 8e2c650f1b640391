"""What is known of a Prefect server of ours, and where it is written down."""

from __future__ import annotations

import getpass
import importlib.metadata
import os
import sys
import time
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from atomic.errors import RecordDamaged
from atomic.processes.ids import ProcessId, boot_id, identify, is_alive
from atomic.record.files import encode, make_folder, read_object, write_file
from atomic.verdict.facts import Facts

HOST = "127.0.0.1"
FOLDER = "prefect"  # in the home of atomic-flows: the server's own PREFECT_HOME
STATE = "server.json"
LOG = "server.log"
START_LOCK = "start.lock"  # held while somebody decides whether to start a server
LIFE_LOCK = "server.lock"  # held by the server as long as it lives: there is never a second one
EXIT_RUNNING = 75  # a second one ends with this (EX_TEMPFAIL)


class Started(Facts):
    """A process that was started to stay, as it writes itself down. Whether it still runs: :meth:`alive`."""

    pid: int
    process_started: float
    boot_id: str
    started_at: float  # seconds since the epoch
    started_by: str
    folder: Path  # with its state file, its lock and its log

    @property
    def process(self) -> ProcessId:
        """Its process."""
        return ProcessId(self.pid, self.process_started)

    def alive(self) -> bool:
        """Whether its process runs: this very one, in this boot of the machine."""
        return self.boot_id == boot_id() and is_alive(self.process)


class ServerInfo(Started):
    """A Prefect server."""

    port: int
    version: str  # of Prefect

    @property
    def url(self) -> str:
        """What PREFECT_API_URL is set to."""
        return f"http://{HOST}:{self.port}/api"

    @property
    def dashboard(self) -> str:
        """Where a browser finds Prefect's own pages."""
        return f"http://{HOST}:{self.port}"

    @property
    def log(self) -> Path:
        """What the server printed."""
        return self.folder / LOG


def server_folder(home: Path) -> Path:
    """The folder of the shared server, made when it is not there. Raises PlaceError."""
    folder = home / FOLDER
    make_folder(folder)
    return folder


def cache_folder(home: Path) -> Path:
    """What makes the next start quicker and can be removed at any time: bytecode, an empty database."""
    return home / FOLDER / "cache" / f"prefect-{installed_version()}-{sys.implementation.cache_tag}"


def installed_version() -> str:
    """The version of the Prefect that this environment would start."""
    return importlib.metadata.version("prefect")


def read_info(folder: Path) -> ServerInfo | None:
    """What the last server of this folder wrote; None when there was none, or the file is damaged."""
    try:
        return ServerInfo.model_validate(read_object(folder / STATE))
    except (FileNotFoundError, RecordDamaged, ValidationError):
        return None  # the life lock still keeps a second server away


def write_own_info(folder: Path, port: int, started_by: str) -> ServerInfo:
    """Called by the server's process itself, once it holds its port."""
    info = ServerInfo(**own_facts(folder, started_by), port=port, version=installed_version())
    write_file(folder / STATE, encode(info.model_dump(mode="json")))
    return info


def own_facts(folder: Path, started_by: str) -> dict[str, Any]:
    """What Started says of this process."""
    own = identify(os.getpid())
    assert own is not None, "a running process finds itself"
    return {
        "pid": own.pid,
        "process_started": own.start_time,
        "boot_id": boot_id(),
        "started_at": time.time(),
        "started_by": started_by,
        "folder": folder,
    }


def who() -> str:
    """The user and command of this process, as the state file names who started a server."""
    return f"{getpass.getuser()}, {Path(sys.argv[0] or 'python').name} (pid {os.getpid()})"
