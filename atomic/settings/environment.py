"""``ATOMIC_FLOWS_…`` variables as a layer.

``ATOMIC_FLOWS_RECORD__FSYNC=false`` sets ``record.fsync``: two underscores go one table deeper, case does not matter
(except in the names of ``agent.env``). Numbers, booleans and tables are written as in TOML, text as it is; a list may
also be words, read as a shell would: ``ATOMIC_FLOWS_AGENT__COMMAND="node cli.js"``.
"""

from __future__ import annotations

import shlex
import tomllib
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from atomic.errors import SettingsError
from atomic.settings.facts import Settings
from atomic.settings.layers import Layer, merge
from atomic.settings.places import HOME_VARIABLE
from atomic.settings.problems import keys_of, nearest

PREFIX = "ATOMIC_FLOWS_"
# The home is read before any layer; the second is the mark that a session's processes carry; the third is a secret that
# belongs in no file of settings.
NOT_SETTINGS = frozenset({HOME_VARIABLE, "ATOMIC_FLOWS_ATTEMPT", "ATOMIC_FLOWS_DASHBOARD_TOKEN"})
POLICY_LISTS = frozenset({"models", "check"})  # keys of a policy that are lists of words


def read_environment(environ: Mapping[str, str]) -> Layer:
    """The layer of all ``ATOMIC_FLOWS_…`` variables. Raises SettingsError that names an unknown or unreadable one."""
    data: dict[str, Any] = {}
    variables: dict[tuple[str, ...], str] = {}
    for variable in sorted(environ):
        if variable.startswith(PREFIX) and variable not in NOT_SETTINGS:
            path, annotation = _path(variable)
            value: Any = _value(annotation, path, environ[variable], variable)
            variables[tuple(path)] = variable
            for name in reversed(path):
                value = {name: value}
            data = merge(data, value)
    return Layer(data, variables=variables)


def _path(variable: str) -> tuple[list[str], Any]:
    """Key path of a variable, and the type that stands there (Any where nothing more is known)."""
    parts = variable.removeprefix(PREFIX).split("__")
    path: list[str] = []
    annotation: Any = Settings
    for part in parts:
        name = part.lower()
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            fields = {field.alias or key: field.annotation for key, field in annotation.model_fields.items()}
            if name not in keys_of(annotation):
                raise _unknown(variable, path, name, keys_of(annotation))
            path.append(name)
            annotation = fields[name]
        elif path == ["agent", "env"]:
            path.append(part)
            annotation = str
        else:
            path.append(name)
            annotation = Any
    return path, annotation


def _unknown(variable: str, path: Sequence[str], name: str, known: Sequence[str]) -> SettingsError:
    meant = nearest(name, known)

    def spelled(key: str) -> str:
        return PREFIX + "__".join([*path, key]).upper()

    return SettingsError(
        f"unknown variable {variable}",
        hint=f"did you mean {spelled(meant)}?" if meant else f"known: {', '.join(spelled(key) for key in known)}",
        key=variable,
        nearest=spelled(meant) if meant else None,
    )


def _value(annotation: Any, path: Sequence[str], text: str, variable: str) -> Any:
    kinds = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)
    if any(kind in (str, Path) or get_origin(kind) is Literal for kind in kinds):
        return text
    wants_list = any(get_origin(kind) is tuple for kind in kinds) or (path[0] == "policy" and path[-1] in POLICY_LISTS)
    if wants_list and not text.lstrip().startswith("["):
        try:
            return shlex.split(text)
        except ValueError as error:
            raise SettingsError(f"{variable}: {str(error).lower()}", key=variable) from None
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
