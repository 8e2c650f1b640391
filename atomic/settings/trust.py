"""Which of a project file's settings count: a folder that somebody cloned may be hostile.

A policy may be set by any project: it chooses among providers that the user's agent already holds keys for, and among
limits. What can run code, weaken the agent's own guard, write elsewhere or send data counts only from the user's own
file, ``--config``, the environment, or a project file that was trusted in exactly the content it has.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from atomic.errors import SettingsError
from atomic.regular import read_json
from atomic.settings.layers import Layer

STORE_NAME = "trust.json"
ANY = "*"  # in a key path: whatever name stands there
# Key paths that need trust, whole subtrees each, and what they could do.
GUARDED: dict[tuple[str, ...], str] = {
    ("agent",): "decides which program runs, and how",
    ("record", "url"): "decides where prompts and answers are sent",
    ("record", "spool"): "decides where files are written",
    ("prefect",): "decides what prompts go through",
    ("history", "url"): "decides where answers are kept",
    ("webhook",): "decides who is told of results",
    ("dashboard",): "decides who can read every run, and where links lead",
    ("policy", ANY, "check"): "decides which program looks at answers",
}


@dataclass(frozen=True, slots=True)
class Claim:
    """A setting that needs trust: its key, line (None where unknown), value as written, and what it decides."""

    key: str
    line: int | None
    value: Any
    effect: str


def claims_of(layer: Layer) -> list[Claim]:
    """The settings of a file that would count only after it was trusted, in the file's order as far as lines tell."""
    found = []
    for path, effect in _guarded(layer):
        if layer.holds(path):
            value: Any = layer.data
            for name in path:
                value = value[name]
            if not isinstance(value, dict):
                found.append(Claim(".".join(path), layer.place(path).line, value, effect))
                continue
            for name, inner in value.items():
                found.append(Claim(".".join([*path, name]), layer.place([*path, name]).line, inner, effect))
    return sorted(found, key=lambda claim: claim.line or 0)


def _guarded(layer: Layer) -> Iterator[tuple[tuple[str, ...], str]]:
    """The key paths that need trust, with the names that this layer has where any may stand."""
    for path, effect in GUARDED.items():
        if ANY not in path:
            yield path, effect
            continue
        place = path.index(ANY)
        tables = layer.data
        for name in path[:place]:
            tables = tables.get(name) or {}
        yield from (((*path[:place], name, *path[place + 1 :]), effect) for name in tables)


def is_trusted(layer: Layer, home: Path) -> bool:
    """Whether this file was trusted in just this content."""
    return _read(home).get(_name(layer)) == _digest(layer)


def trust_file(layer: Layer, home: Path) -> None:
    """Trust the content that this layer was read from, whatever the file holds by now."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    with FileLock(home / f"{STORE_NAME}.lock"):
        trusted = _read(home) | {_name(layer): _digest(layer)}
        handle, name = tempfile.mkstemp(dir=home, prefix=STORE_NAME)
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            json.dump(trusted, out, indent=1, sort_keys=True)
        Path(name).replace(home / STORE_NAME)


def require_trust(layer: Layer, home: Path) -> None:
    """Refuse a project file that sets what needs trust and has none. Nothing is passed over in silence: a run that
    used other settings than the file says would be worse than none. Raises SettingsError."""
    claims = claims_of(layer)
    if not claims or is_trusted(layer, home):
        return
    place = layer.place(claims[0].key.split("."))
    keys = ", ".join(claim.key for claim in claims)
    raise SettingsError(
        f"{place.text}: {keys} can run programs or send data, and this file is not trusted",
        hint="look at it, then `atomic-flows trust`; or go without this file by --config FILE with one of your own",
        file=place.file,
        line=place.line,
        key=claims[0].key,
    )


def _name(layer: Layer) -> str:
    return os.path.realpath(layer.file) if layer.file else ""


def _digest(layer: Layer) -> str:
    return hashlib.sha256(layer.content).hexdigest()


def _read(home: Path) -> dict[str, str]:
    store = home / STORE_NAME
    try:
        data = read_json(store)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        data = None
    if not isinstance(data, dict):
        raise SettingsError(
            f"{store}: cannot be read", hint="move it away and trust your projects again", file=str(store)
        )
    return data
