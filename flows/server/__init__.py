"""The Prefect server that commands talk to: the user's, the toolkit's own, or one for a single command."""

from flows.server.choice import Choice, choose, named_server
from flows.server.facts import ServerInfo
from flows.server.local import ServerStatus, ensure_server, server_status, stop_server
from flows.server.private import PrivateServer, start_private

__all__ = [
    "Choice",
    "PrivateServer",
    "ServerInfo",
    "ServerStatus",
    "choose",
    "ensure_server",
    "named_server",
    "server_status",
    "start_private",
    "stop_server",
]
