"""The environments: that of a server's process, and what this process needs to talk to one."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Mapping, MutableMapping
from pathlib import Path

from flows.server.facts import HOST, ServerInfo

# What a server needs of a user's environment. Keys of providers are not among it: a server outlives the command that
# started it, and so would they. Neither is the marker of a session, which would make it a leftover of that session.
PASSED = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH")
PASSED_PREFIXES = ("LC_", "PYTHON", "DYLD_")
USER_SETTINGS = ("PREFECT_SERVER_", "PREFECT_API_DATABASE_")

# Nothing is told to Prefect's makers, by a server of ours or by Prefect's client in this process, and no notice of it
# is shown. The first is what the client asks (agents inherit it), the second what the server does.
UNTRACKED = {"DO_NOT_TRACK": "1", "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}

# The recorder writes each task run apart by default: 61 ms of a processor for each, against 25 in batches.
SERVER_DEFAULTS = {
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "200",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_READ_BATCH_SIZE": "200",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "2",
    # Events likewise: a tenth of what a task run costs.
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_BATCH_SIZE": "200",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_READ_BATCH_SIZE": "200",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "PREFECT_SERVER_LOGGING_LEVEL": "WARNING",
    # In memory, by default: a server that starts anew would count slots as taken that nobody holds, for ever.
    "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
}

# A server for one command: nothing is scheduled, so nothing can be late; blocks are not used.
PRIVATE_SETTINGS = {
    **SERVER_DEFAULTS,
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "0.2",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_TRIGGERS_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_SCHEDULER_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_LATE_RUNS_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_FOREMAN_ENABLED": "false",
    "PREFECT_SERVER_UI_ENABLED": "false",
    "PREFECT_API_BLOCKS_REGISTER_ON_START": "false",
}


def server_environment(folder: Path, cache: Path, environ: Mapping[str, str], *, private: bool) -> dict[str, str]:
    """The whole environment of a server's process. The shared one takes the user's own server settings."""
    passed = {name: value for name, value in environ.items() if name in PASSED or name.startswith(PASSED_PREFIXES)}
    if private:
        settings = PRIVATE_SETTINGS
    else:
        own = {name: value for name, value in environ.items() if name.startswith(USER_SETTINGS)}
        settings = {**SERVER_DEFAULTS, "PREFECT_SERVER_UI_STATIC_DIRECTORY": str(folder / "ui"), **own}
    fixed = {"PREFECT_HOME": str(folder), "PREFECT_SERVER_API_HOST": HOST, **UNTRACKED}
    return {**passed, **_bytecode(cache, environ), **settings, **fixed}


def _bytecode(cache: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Compiling Prefect's server takes longer than starting it (3 s of 6). Where bytecode may not be written beside the
    sources, and was not, it is kept in the cache."""
    spec = importlib.util.find_spec("prefect")
    compiled = spec is not None and spec.cached is not None and Path(spec.cached).exists()
    if compiled or "PYTHONPYCACHEPREFIX" in environ or not environ.get("PYTHONDONTWRITEBYTECODE"):
        return {}
    return {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(cache / "bytecode")}


def wire(info: ServerInfo, environ: MutableMapping[str, str] = os.environ) -> None:
    """Make Prefect talk to this server. It reads its settings when it is imported; where it is, it reads them again."""
    environ["PREFECT_API_URL"] = info.url
    environ.setdefault("PREFECT_HOME", str(info.folder))
    _past_proxies(environ)
    if "prefect.context" in sys.modules:
        from prefect.context import refresh_global_settings_context

        refresh_global_settings_context()


def quiet(environ: MutableMapping[str, str] = os.environ) -> None:
    """Prefect's own log lines go to its server; on the terminal only what warns. What the user has set, stays."""
    environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "WARNING")
    # A server that does not answer is asked for 14 s, instead of for a minute: a person waits, and the next start tells
    # it. Of one that has gone see flows.cli.outage.
    environ.setdefault("PREFECT_CLIENT_MAX_RETRIES", "3")
    environ.update(UNTRACKED)


def _past_proxies(environ: MutableMapping[str, str]) -> None:
    """A proxy must not get what is meant for this machine."""
    if not any(name.lower() in {"http_proxy", "all_proxy"} and value for name, value in environ.items()):
        return
    for name in ("NO_PROXY", "no_proxy"):
        hosts = [host for host in environ.get(name, "").split(",") if host]
        if HOST not in hosts and "*" not in hosts:
            environ[name] = ",".join([*hosts, HOST])
