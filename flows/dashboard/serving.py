"""Serving the dashboard: its port, its rules, its process."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from atomic.errors import UsageError
from atomic.settings import Settings
from flows.dashboard.guard import SHORTEST_TOKEN, is_loopback

TOKEN_VARIABLE = "ATOMIC_FLOWS_DASHBOARD_TOKEN"  # noqa: S105 - its name
HERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - where this machine finds what listens everywhere
GRACE = 3  # seconds for requests under way when it is stopped


def read_token(file: Path | None, environ: Mapping[str, str] = os.environ) -> str | None:
    """The token that a file's first line or the environment holds; None where neither is given. Raises UsageError for
    one that cannot be read, or that could be guessed."""
    if file is not None:
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"the token file {file} cannot be read: {error}", path=str(file)) from None
        token = lines[0].strip() if lines else ""
        where = str(file)
    elif TOKEN_VARIABLE in environ:
        token, where = environ[TOKEN_VARIABLE].strip(), TOKEN_VARIABLE
    else:
        return None
    if len(token) < SHORTEST_TOKEN:
        raise UsageError(
            f"the token in {where} is shorter than {SHORTEST_TOKEN} characters",
            hint="`python -c 'import secrets; print(secrets.token_urlsafe())'` makes one that nobody guesses",
            key=where,
        )
    return token


def check_host(host: str, token: str | None) -> None:
    """Refuse to be reached from elsewhere without a token. Raises UsageError."""
    if token is None and not is_loopback(host):
        raise UsageError(
            f"on {host} others could read every prompt and answer",
            hint=f"set a token in {TOKEN_VARIABLE} or by --token-file, or leave --host at 127.0.0.1",
            key="host",
        )


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0: any that is free. Raises UsageError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen()
    except OSError as error:
        listener.close()
        taken = error.errno == errno.EADDRINUSE
        raise UsageError(
            f"port {port} of {host} is taken" if taken else f"{host}, port {port}: {error.strerror or error}",
            hint="another one by --port; --port 0 takes any that is free" if taken else None,
            host=host,
            port=port,
        ) from None
    except OverflowError:
        listener.close()
        raise UsageError(f"there is no port {port}", hint="ports are 0 to 65535", port=port) from None
    return listener


def address(host: str, listener: socket.socket) -> str:
    """What to open in a browser of this machine."""
    name = HERE.get(host, host)
    return f"http://{f'[{name}]' if ':' in name else name}:{listener.getsockname()[1]}"


def serve(settings: Settings, listener: socket.socket, *, host: str, token: str | None) -> None:
    """Serve until a signal ends it. Raises UsageError without NiceGUI, DatabaseError."""
    import uvicorn

    from atomic.runner import open_store
    from flows.dashboard.app import build_app, require_library
    from flows.dashboard.guard import rules_for
    from flows.dashboard.keeping_up import keeping_up
    from flows.dashboard.live import looked_at
    from flows.dashboard.presence import present
    from flows.dashboard.sources import Sources
    from flows.database import Database

    require_library(settings.home)
    url = address(host, listener)
    names = [name] if (name := urlsplit(settings.dashboard.url or "").hostname) else []
    database = Database.open(settings.history.url, home=settings.home, moving=True)
    try:
        sources = Sources(settings, open_store(settings), database)
        app = build_app(sources, rules_for(host, names, token))
        config = uvicorn.Config(
            app, log_level="warning", lifespan="on", ws="wsproto", timeout_graceful_shutdown=GRACE, server_header=False
        )
        with present(settings.home, url, guarded=token is not None), keeping_up(sources, looked_at):
            uvicorn.Server(config).run(sockets=[listener])
    finally:
        database.close()
