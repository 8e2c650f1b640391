"""Fields of records as they should be. A wrong type or a missing field reads as nothing said, never as an error."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

# Far above what a session can use; a larger number in a usage field is damage and must not poison the sums.
MOST = 2**53


def text(value: object) -> str:
    """A string, else ``""``."""
    return value if isinstance(value, str) else ""


def mapping(value: object) -> Mapping[str, Any]:
    """An object, else an empty one."""
    return value if isinstance(value, dict) else {}


def mappings(value: object) -> Iterator[Mapping[str, Any]]:
    """The objects in an array; nothing when it is none."""
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))


def count(value: object) -> int:
    """A number of tokens: not negative, whole; else 0."""
    found = amount(value)
    return int(found) if found is not None else 0


def amount(value: object) -> float | None:
    """A finite number that is not negative, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if value < 0 or value > MOST or (isinstance(value, float) and math.isnan(value)):
        return None
    return float(value)


def block_text(content: object) -> str:
    """The text of a message's or a result's content: a string, or its text blocks joined as they stand."""
    if isinstance(content, str):
        return content
    return "".join(text(block.get("text")) for block in mappings(content) if block.get("type") == "text")
