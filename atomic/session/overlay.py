"""Settings of one attempt laid over the agent's own, in a folder made for it: the user's own files stay as they are.

The agent has no flags for its settings, and its folder is one for all. So the attempt gets a folder of links to the
real files, with a ``settings.json`` that holds the merged settings.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from atomic.agent import Agent
from atomic.errors import SettingsError
from atomic.models.agent_folder import FOLDER_VARIABLES, agent_folder
from atomic.record.files import encode, make_folder, place_error, write_file
from atomic.regular import read_json

_SETTINGS = "settings.json"
_KEYS = "auth.json"


def check_overlay(agent: Agent) -> None:
    """Whether the agent's settings can be laid over its own. Raises SettingsError where its folder holds OAuth
    credentials: two folders would renew them under two locks, and each renewal makes the other's worthless. Raises it
    too for settings of the agent's own that cannot be read."""
    if not agent.settings:
        return
    folder = agent_folder(agent.env, agent.command)
    try:
        keys = read_json(folder / _KEYS)
    except (OSError, ValueError):
        keys = {}
    entries = keys.items() if isinstance(keys, dict) else ()
    providers = sorted(name for name, entry in entries if isinstance(entry, dict) and entry.get("type") == "oauth")
    if providers:
        raise SettingsError(
            f"[agent.settings] cannot be used: {folder / _KEYS} holds OAuth credentials ({', '.join(providers)}), and "
            "their lock does not reach over two folders",
            hint=f"use an API key, or write the settings into {folder / _SETTINGS} yourself",
            file=str(folder / _KEYS),
            key="agent.settings",
        )
    _laid_over(folder, agent)


def lay_over(agent: Agent, target: Path) -> dict[str, str]:
    """Make the folder ``target`` for one attempt. Returns the variables that point the agent there; none where no
    settings are laid over its own. Raises SettingsError as check_overlay, PlaceError where it cannot be made."""
    if not agent.settings:
        return {}
    check_overlay(agent)
    folder = agent_folder(agent.env, agent.command)
    make_folder(target)
    try:
        for entry in folder.iterdir() if folder.is_dir() else ():
            if entry.name != _SETTINGS:
                (target / entry.name).symlink_to(entry.absolute())
    except OSError as error:
        raise place_error(error, target, "fill the folder") from error
    write_file(target / _SETTINGS, _laid_over(folder, agent))
    return dict.fromkeys(FOLDER_VARIABLES, str(target))


def take_away(target: Path) -> None:
    """Remove an attempt's folder, links and all; what they lead to stays."""
    if target.is_dir():
        shutil.rmtree(target, ignore_errors=True)


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Both, with what is above laid over what is below; tables are merged, everything else is replaced."""
    result = dict(below)
    for key, value in above.items():
        under = result.get(key)
        result[key] = merged(under, value) if isinstance(under, Mapping) and isinstance(value, Mapping) else value
    return result


def _laid_over(folder: Path, agent: Agent) -> bytes:
    try:
        return encode(merged(_own_settings(folder), agent.settings))
    except RecursionError as error:
        raise _unreadable(folder / _SETTINGS, "it is nested too deeply") from error


def _own_settings(folder: Path) -> dict[str, Any]:
    path = folder / _SETTINGS
    try:
        settings = read_json(path)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    except ValueError as error:
        raise _unreadable(path, str(error)) from error
    if not isinstance(settings, dict):
        raise _unreadable(path, "it holds no JSON object")
    return settings


def _unreadable(path: Path, reason: str) -> SettingsError:
    return SettingsError(
        f"[agent.settings] cannot be laid over {path}: {reason}",
        hint="repair that file, or take [agent.settings] away",
        file=str(path),
        key="agent.settings",
    )
