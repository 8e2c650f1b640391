"""The agent's own session file: a header and a tree of entries, one JSON object a line (version 3)."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from atomic.scripted.arguments import Arguments
from atomic.scripted.wire import Json, encode

VERSION = 3
FOLDER_VARIABLES = ("ATOMIC_CODING_AGENT_SESSION_DIR", "PI_CODING_AGENT_SESSION_DIR")


def iso(seconds: float) -> str:
    """A time as the agent writes it: ISO, UTC, with milliseconds."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds * 1000) % 1000:03d}Z"


def new_session_id() -> str:
    """An id of the real one's shape: a UUID that begins with the time."""
    digits = f"{int(time.time() * 1000):012x}7{os.urandom(10).hex()[:19]}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


class SessionFile:
    """A conversation on disk. As with the real agent nothing is written before the first assistant message, and a
    file that exists keeps its header: its id, and the folder it belongs to."""

    def __init__(self, path: Path | None, session_id: str | None = None) -> None:
        self.path = path
        self.header: Json = {
            "type": "session",
            "version": VERSION,
            "id": session_id or new_session_id(),
            "timestamp": iso(time.time()),
            "cwd": str(Path.cwd()),
        }
        self.history: list[Json] = []  # the messages of earlier sessions, oldest first
        self._leaf: str | None = None
        self._waiting: list[Json] = [self.header]
        self._begun = False
        if path is not None and path.exists():
            self._read(path)

    def append(self, kind: str, **fields: Any) -> None:
        """Add an entry below the last one. It reaches the disk with the first assistant message."""
        entry_id = os.urandom(4).hex()
        self._waiting.append(
            {"type": kind, "id": entry_id, "parentId": self._leaf, "timestamp": iso(time.time()), **fields}
        )
        self._leaf = entry_id
        message = fields.get("message")
        if message and message["role"] == "assistant":
            self._begun = True
        if self.path is not None and self._begun:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                file.write(b"".join(map(encode, self._waiting)))
            self._waiting.clear()

    def _read(self, path: Path) -> None:
        entries: list[Json] = []
        for line in path.read_bytes().split(b"\n"):
            try:
                entry = json.loads(line)
            except ValueError:
                continue  # torn by a kill: the real agent passes over it too
            if isinstance(entry, dict):
                entries.append(entry)
        if not entries or entries[0].get("type") != "session":
            return
        self.header, self._begun = entries[0], True
        self._waiting.clear()
        by_id = {entry["id"]: entry for entry in entries[1:]}
        self._leaf = entries[-1]["id"] if by_id else None
        branch: list[Json] = []
        at = self._leaf
        while at is not None and (entry := by_id.get(at)):
            branch.append(entry)
            at = entry["parentId"]
        self.history = [entry["message"] for entry in reversed(branch) if entry["type"] == "message"]


def open_session(arguments: Arguments) -> SessionFile:
    """The session that the command line asks for. Without `--session` or a session folder nothing is kept: a script
    leaves no traces in anyone's home."""
    options = arguments.options
    if "--no-session" in options:
        return SessionFile(None, options.get("--session-id"))
    if path := options.get("--session"):
        return SessionFile(Path(path))
    folder_name = options.get("--session-dir") or next(filter(None, map(os.environ.get, FOLDER_VARIABLES)), None)
    if folder_name is None:
        return SessionFile(None, options.get("--session-id"))
    folder = Path(folder_name)
    session_id = options.get("--session-id")
    if "--continue" in options and (known := sorted(folder.glob("*.jsonl"))):
        return SessionFile(known[-1])
    if session_id and (known := sorted(folder.glob(f"*_{session_id}.jsonl"))):
        return SessionFile(known[-1])
    session_id = session_id or new_session_id()
    stamp = iso(time.time()).replace(":", "-").replace(".", "-")
    return SessionFile(folder / f"{stamp}_{session_id}.jsonl", session_id)
