"""The agent's own folder, and what its `models.json` says about models."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from atomic.models.catalog import ModelEntry, Price
from atomic.regular import LARGEST_SETTINGS, read_regular

FOLDER_VARIABLES = ("ATOMIC_CODING_AGENT_DIR", "PI_CODING_AGENT_DIR")
AGENT_WINDOW = 128_000  # what the agent assumes of a model in models.json that says nothing (its docs/models.md)
_COSTS = ("input", "output", "cacheRead", "cacheWrite")
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*')  # the agent reads its models.json with such comments
_TRAILING_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])')


def agent_folder(env: Mapping[str, str], command: Sequence[str] = ()) -> Path:
    """Where the agent keeps its settings, models and keys. ``env`` is what the agent is given beyond this process's
    environment; ``command`` tells which agent it is where no variable says so."""
    for source in (env, os.environ):
        for name in FOLDER_VARIABLES:
            if source.get(name):
                return Path(os.path.expanduser(source[name]))  # noqa: PTH111 (as below)
    home = Path(env.get("HOME") or os.path.expanduser("~"))  # noqa: PTH111 (does not raise without a home)
    folders = [home / ".atomic" / "agent", home / ".pi" / "agent"]
    if command and Path(command[0]).name == "pi":
        folders.reverse()
    return next((folder for folder in folders if os.path.isdir(folder)), folders[0])  # noqa: PTH112 (nor for long names)


def read_agent_models(folder: Path) -> dict[str, ModelEntry]:
    """The entries of an agent folder's `models.json`, by `provider/id`. Empty when the file is missing or the agent
    itself could not read it: it then goes on with its built-in models, and says so in its own words."""
    entries: dict[str, ModelEntry] = {}
    for provider, config in read_agent_providers(folder).items():
        for model, override in _tables(config.get("modelOverrides")):
            entries[f"{provider}/{model}"] = _entry(override, window=None)
        declared = config.get("models")
        for model_config in declared if isinstance(declared, list) else ():
            if isinstance(model_config, dict) and isinstance(model_config.get("id"), str):
                entries[f"{provider}/{model_config['id']}"] = _entry(model_config, window=AGENT_WINDOW)
    return entries


def read_agent_providers(folder: Path) -> dict[str, Mapping[str, Any]]:
    """The tables of the providers in an agent folder's `models.json`, as they stand there, by name. Empty as above."""
    try:
        text = read_regular(folder / "models.json", LARGEST_SETTINGS).decode()
        data = json.loads(_TRAILING_COMMA.sub(_kept, _COMMENT.sub(_kept, text)))
    except (OSError, ValueError, RecursionError):
        return {}
    return dict(_tables(_table(data).get("providers")))


def _entry(config: Mapping[str, Any], *, window: int | None) -> ModelEntry:
    """``window``: what the agent assumes where the entry says nothing. A price left out is not a price of nothing."""
    stated = config.get("contextWindow")
    cost = {key: value for key, value in _table(config.get("cost")).items() if key in _COSTS}
    try:
        price: Price | None = Price.model_validate(cost)
    except ValidationError:
        price = None
    whole = isinstance(stated, int) and not isinstance(stated, bool) and stated > 0
    return ModelEntry(window=stated if whole else window, price=price)


def _tables(value: Any) -> list[tuple[str, Mapping[str, Any]]]:
    return [(key, table) for key, table in _table(value).items() if isinstance(table, dict)]


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _kept(match: re.Match[str]) -> str:
    return match[1] or ""
