"""From all sources to one Settings object."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from atomic.errors import ModelRefError, PolicyError, SettingsError, UsageError
from atomic.policy.resolve import resolve_policies
from atomic.settings.environment import read_environment
from atomic.settings.facts import Settings
from atomic.settings.layers import Layer, merge, read_file
from atomic.settings.places import FILE_NAME, expand, find_home, find_project_file
from atomic.settings.problems import problems_of, together
from atomic.settings.trust import require_trust

_SCHEME = re.compile(r"[A-Za-z][\w+.-]*://|file:")
_LOCAL = ("file", "local")  # fsspec's names of the local file system


def load_settings(
    cwd: str | Path | None = None, config: str | Path | None = None, environ: Mapping[str, str] = os.environ
) -> Settings:
    """Read every source and put them over each other.

    `cwd` (default: the current folder) is where the search for the project's file begins; `config` is a file to take
    in place of the project's. Raises SettingsError, or PolicyError for a policy that nobody could follow; both name
    file, line and key, or the variable.
    """
    home = find_home(environ)
    project = find_project_file(Path(cwd or "."), home) if config is None else None
    layers = _layers(home, Path(config) if config is not None else project, environ)
    data: dict[str, Any] = {}
    found: list[UsageError] = []
    for layer in layers:
        if wrong := problems_of(Settings, layer):
            found += wrong
            data = merge(data, _policies(layer))
            continue
        if project is not None and layer.file == project:
            require_trust(layer, home)
        data = merge(data, _anchored(layer, environ))
    found += _policy_problems(data.get("policy", {}), layers)
    if found:
        raise together(found)
    data["home"] = str(home)
    data["sources"] = [str(layer.file) for layer in layers if layer.file is not None]
    return Settings.model_validate_json(json.dumps(data, default=str))


def _policies(layer: Layer) -> dict[str, Any]:
    """The policies alone of a layer that is wrong elsewhere, so that what is wrong with them is told too."""
    tables = layer.data.get("policy")
    sound = tables if isinstance(tables, dict) else {}
    return {"policy": {name: table for name, table in sound.items() if isinstance(table, dict)}}


def _policy_problems(tables: Mapping[str, Any], layers: list[Layer]) -> Sequence[UsageError]:
    """All that is wrong with the policies, each where it stands: what one inherits is told once."""
    try:
        resolve_policies(tables)
    except PolicyError as error:
        placed: dict[object, UsageError] = {}
        for one in (error, *error.fields.get("more", ())):
            key = one.fields.get("key")
            told = _placed(one, layers, key.split(".") if key else [], one.fields["policy"])
            placed.setdefault((told.fields.get("file"), told.fields.get("line"), key or told.message), told)
        return list(placed.values())
    except ModelRefError as error:
        named = next((name for name, table in tables.items() if error.text in table.get("models", ())), None)
        return [_placed(error, layers, ["models"], named)]
    return []


def _layers(home: Path, file: Path | None, environ: Mapping[str, str]) -> list[Layer]:
    layers = []
    own = home / FILE_NAME
    if os.path.lexists(own):
        layers.append(read_file(own))
    if file is not None:
        layers.append(read_file(file))
    layers.append(read_environment(environ))
    return layers


def _placed(
    error: PolicyError | ModelRefError, layers: list[Layer], key: list[str], policy: str | None
) -> PolicyError | ModelRefError:
    """The error with the file and line where the key stands: in that policy, or in the one that it extends."""
    for path in (["policy", policy, *key], ["policy", None, *key], ["policy", policy]):
        for layer in reversed(layers):
            for name in layer.data.get("policy", {}):
                here = [part or name for part in path]
                if layer.holds(here):
                    place = layer.place(here)
                    kept = {name: value for name, value in error.fields.items() if name != "more"}
                    fields = {**kept, "file": place.file, "line": place.line}
                    return type(error)(f"{place.text}: {error.message}", hint=error.hint, **fields)
    return error


def _anchored(layer: Layer, environ: Mapping[str, str]) -> dict[str, Any]:
    """The layer's data with paths made absolute: a file's are relative to its folder, a variable's to ours. An empty
    one counts as not set. Raises SettingsError for a URL that keeps nothing."""
    folder = layer.file.parent if layer.file is not None else Path()
    data = _anchored_schemas(layer.data, folder, environ)
    record = data.get("record")
    if not record:
        return data
    fixed = dict(record)
    for name in ("url", "spool"):
        if name not in fixed:
            continue
        text = fixed[name].strip()
        if not text:
            del fixed[name]
        elif name == "url" and ("::" in text or _SCHEME.match(text)):
            _check_url(text, layer)
        else:
            fixed[name] = str((folder / expand(text, environ)).resolve())
    return {**data, "record": fixed}


def _anchored_schemas(data: dict[str, Any], folder: Path, environ: Mapping[str, str]) -> dict[str, Any]:
    """The same with whole paths of the files that policies name as their `schema`."""
    policies = data.get("policy", {})
    named = {name: table["schema"] for name, table in policies.items() if isinstance(table.get("schema"), str)}
    whole = {
        name: {**policies[name], "schema": str((folder / expand(file, environ)).absolute())}
        for name, file in named.items()
        if file
    }
    return {**data, "policy": {**policies, **whole}} if whole else data


def _check_url(url: str, layer: Layer) -> None:
    """Refuse what names no place that outlives this process. Of ``a::b://c`` each part is looked at."""
    reason = ""
    for part in url.split("::"):
        scheme, _, rest = part.partition(":")
        if scheme == "memory":
            reason = "the record would be lost with the process, whose memory it is"
        elif not part:
            reason = "a part of it is empty"
        elif scheme in _LOCAL and not (rest.removeprefix("//").startswith("/") and rest.strip("/")):
            reason = "it holds no absolute path of a folder"
    if reason:
        place = layer.place(["record", "url"])
        raise SettingsError(
            f"{place.text}: record.url: {reason}",
            hint="give a folder, or a URL like s3://bucket/records; left out, records are kept in the home",
            file=place.file,
            line=place.line,
            key="record.url",
        )
