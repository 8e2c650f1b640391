"""What no output of a session may show: the secrets that its agent is given, or finds in its own folder."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from pathlib import Path

from atomic.agent import Agent
from atomic.models.agent_folder import agent_folder
from atomic.providers import Credentials
from atomic.providers.find import AUTH_FILE, MODELS_FILE
from atomic.providers.secrets import secrets_of
from atomic.text import Masker

_Variables = tuple[tuple[str, str], ...]
_Stamp = tuple[int, int, int] | None  # of a file: what changes when it is written to; None: it is not there


def masker_for(agent: Agent, environ: Mapping[str, str] | None = None) -> Masker:
    """Hides the values of this process's and the agent's variables that are secret by their names, and the keys of the
    agent's `models.json` and `auth.json`. Reads these two files, where they are there and have changed since.

    ``environ`` is this process's environment, for whoever has a copy of it at hand."""
    environ = dict(os.environ) if environ is None else environ
    folder = agent_folder(agent.env, agent.command)
    stamps = (_stamp(f"{folder}/{MODELS_FILE}"), _stamp(f"{folder}/{AUTH_FILE}"))
    return _masker(folder, stamps, tuple(environ.items()), tuple(agent.env.items()))


@functools.lru_cache(maxsize=8)  # every session of a batch asks for the same one
def _masker(folder: Path, stamps: tuple[_Stamp, _Stamp], environ: _Variables, own: _Variables) -> Masker:
    """``stamps`` say whether there is anything to read, and tell what was read from what has to be read anew."""
    around, laid_over = dict(environ), dict(own)
    kept = secrets_of(Credentials.within(folder, {**around, **laid_over})) if any(stamps) else ()
    return Masker.of(around, laid_over, secrets=kept)


def _stamp(file: str) -> _Stamp:
    try:
        found = os.stat(file)  # noqa: PTH116 - in no time
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
