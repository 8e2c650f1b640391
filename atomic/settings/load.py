"""From all sources to one Settings object."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from atomic.errors import SettingsError
from atomic.settings.environment import read_environment
from atomic.settings.facts import Settings
from atomic.settings.layers import Layer, merge, read_file
from atomic.settings.places import FILE_NAME, expand, find_home, find_project_file
from atomic.settings.problems import check
from atomic.settings.trust import require_trust


def load_settings(
    cwd: str | Path | None = None, config: str | Path | None = None, environ: Mapping[str, str] = os.environ
) -> Settings:
    """Read every source and put them over each other.

    `cwd` (default: the current folder) is where the search for the project's file begins; `config` is a file to take
    in place of the project's. Raises SettingsError that names file, line and key, or the variable.
    """
    home = find_home(environ)
    layers = _layers(Path(cwd or "."), Path(config) if config is not None else None, home, environ)
    data: dict[str, Any] = {}
    for layer in layers:
        check(Settings, layer)
        data = merge(data, _anchored(layer, environ))
    data["home"] = str(home)
    data["sources"] = [str(layer.file) for layer in layers if layer.file is not None]
    return Settings.model_validate_json(json.dumps(data, default=str))


def _layers(cwd: Path, config: Path | None, home: Path, environ: Mapping[str, str]) -> list[Layer]:
    layers = []
    own = home / FILE_NAME
    if own.is_file():
        layers.append(read_file(own))
    if config is not None:
        if not config.is_file():
            raise SettingsError(f"{config}: no such file", hint="--config wants a TOML file", file=str(config))
        layers.append(read_file(config))
    elif (project := find_project_file(cwd, home)) is not None:
        layer = read_file(project)
        check(Settings, layer)
        require_trust(layer, home)
        layers.append(layer)
    layers.append(read_environment(environ))
    return layers


def _anchored(layer: Layer, environ: Mapping[str, str]) -> dict[str, Any]:
    """The layer's data with paths made absolute: a file's are relative to its folder, a variable's to ours."""
    record = layer.data.get("record")
    if not record:
        return layer.data
    folder = layer.file.parent if layer.file is not None else Path()
    fixed = dict(record)
    for name in ("url", "spool"):
        if name in fixed and not urlsplit(fixed[name]).scheme:
            fixed[name] = str((folder / expand(fixed[name], environ)).resolve())
    return {**layer.data, "record": fixed}
