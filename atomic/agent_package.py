"""The npm package that an agent's command belongs to: which agent it is, its version, the Node it needs."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atomic.regular import read_json

_DEPTH = 4  # folders above a script in which its package.json is looked for: dist/bundle/cli.js has two


@dataclass(frozen=True, slots=True)
class AgentPackage:
    """What a ``package.json`` says. ``node`` is its range of Node versions, as ``>=22.19.0``."""

    name: str | None
    version: str | None
    node: str | None


def find_package(command: Sequence[str]) -> AgentPackage | None:
    """The package of the command's script; None where there is none. Starts no process."""
    scripts = [part for part in command if not part.startswith("-")]
    return next(filter(None, map(_package, reversed(scripts))), None)


@functools.lru_cache(maxsize=16)
def _package(script: str) -> AgentPackage | None:
    """The nearest ``package.json`` above a script. Read once: a session costs little more than a process, and an agent
    that is replaced meanwhile would have to be asked each time."""
    try:
        folders = Path(script).resolve(strict=True).parents[:_DEPTH]
    except OSError:
        return None
    for folder in folders:
        try:
            data = read_json(folder / "package.json")
        except (OSError, ValueError):
            continue
        if not isinstance(data, dict):
            return None
        engines = data.get("engines")
        node = engines.get("node") if isinstance(engines, dict) else None
        return AgentPackage(_text(data.get("name")), _text(data.get("version")), _text(node))
    return None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
