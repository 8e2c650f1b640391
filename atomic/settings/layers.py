"""One source of settings at a time: a file's content, or the environment's, with what a message needs to name it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from atomic.errors import SettingsError
from atomic.regular import read_regular
from atomic.settings.lines import find_line


@dataclass(frozen=True, slots=True)
class Place:
    """Where a key stands: a file and a line, or a variable's name."""

    text: str
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Layer:
    """Nested tables as one source gives them.

    `file` and `content` are those of a file; `variables` names the variable of each key path of the environment's.
    """

    data: dict[str, Any]
    file: Path | None = None
    content: bytes = b""
    variables: dict[tuple[str, ...], str] = field(default_factory=dict)

    def place(self, key: Sequence[str]) -> Place:
        """Where the key stands in this layer, as near as can be told."""
        if self.file is not None:
            line = find_line(self.content.decode("utf-8", "replace"), key)
            return Place(f"{self.file}:{line}" if line else str(self.file), str(self.file), line)
        path = tuple(key)
        for known, variable in self.variables.items():
            if known[: len(path)] == path or path[: len(known)] == known:
                return Place(variable)
        return Place("the environment")

    def holds(self, key: Sequence[str]) -> bool:
        """Whether the key is set here."""
        data: Any = self.data
        for name in key:
            if not isinstance(data, dict) or name not in data:
                return False
            data = data[name]
        return True


LARGEST = 1 << 20  # bytes: a person writes it; what a stranger links here may have no end


def read_file(file: Path) -> Layer:
    """A TOML file as a layer. Raises SettingsError (file, and line where known) when it cannot be read."""
    try:
        content = read_regular(file, LARGEST)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        hint = "settings are a TOML file: check its name and who may read it"
        raise SettingsError(f"{file}: cannot be read: {reason}", hint=hint, file=str(file)) from None
    try:
        # Editors of other systems put a byte order mark there; tomllib refuses it.
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SettingsError(f"{file}:{line}: not UTF-8 text", file=str(file), line=line) from None
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _broken(file, text, str(error)) from None
    except RecursionError:
        raise SettingsError(f"{file}: nested too deeply", file=str(file)) from None
    return Layer(data, file, content)


def _broken(file: Path, text: str, message: str) -> SettingsError:
    found = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", message)
    reason = message[: found.start()] if found else message
    if found and found[1]:
        line, column = int(found[1]), int(found[2])
    else:
        last = text.rstrip("\n").split("\n")
        line, column = len(last), len(last[-1]) + 1
    return SettingsError(
        f"{file}:{line}:{column}: not valid TOML: {reason[:1].lower()}{reason[1:]}",
        hint="see https://toml.io for the format",
        file=str(file),
        line=line,
        column=column,
    )


def merge(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Both tables as one, key by key; where both set a key that is no table in both, `above` wins."""
    merged = dict(below)
    for name, value in above.items():
        old = merged.get(name)
        merged[name] = merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged
