"""In which line of a TOML text a key stands. tomllib does not say, and a message without the line is half a message."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence

KeyPath = tuple[str, ...]


def find_line(text: str, key: Sequence[str]) -> int | None:
    """Line number (from 1) of the key, or of the nearest table that holds it; None when neither is written out.

    Of a key that stands in an inline table the line of that table's own key is given.
    """
    wanted = tuple(key)
    best: tuple[int, int] | None = None
    for line, path in _keys(text):
        shared = _shared(path, wanted)
        if shared == len(path) and (best is None or shared > best[0]):
            best = (shared, line)
    return best[1] if best else None


def _shared(one: KeyPath, other: KeyPath) -> int:
    for n, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return n
    return min(len(one), len(other))


def _keys(text: str) -> Iterator[tuple[int, KeyPath]]:
    """Every key and table header that begins a line, as (line, whole path)."""
    table: KeyPath = ()
    closing: str | None = None  # the quotes that end the multi-line string we are in
    for n, line in enumerate(text.split("\n"), 1):
        if closing is not None:
            if closing in line:
                closing = None
            continue
        stripped = line.strip()
        if stripped.startswith("["):
            header = _path(stripped)
            if header is not None:
                table = header
                yield n, table
                continue
        name, equals, value = stripped.partition("=")
        while equals:  # a quoted key may hold an equals sign
            path = _path(f"{name} = 0")
            if path is not None:
                yield n, table + path
                break
            more, equals, value = value.partition("=")
            name = f"{name}={more}"
        for quotes in ('"""', "'''"):
            if value.count(quotes) % 2:
                closing = quotes


def _path(line: str) -> KeyPath | None:
    """The path that one line of TOML alone creates; None when it is none by itself."""
    try:
        data: object = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return None
    path: list[str] = []
    while isinstance(data, dict | list) and len(data) == 1:
        if isinstance(data, list):
            data = data[0]
        else:
            name, data = next(iter(data.items()))
            path.append(name)
    return tuple(path) or None
