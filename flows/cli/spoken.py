"""A provider's error as a person reads it: the words that its JSON holds, without the JSON around them."""

from __future__ import annotations

import json
import re
from typing import Any

_DEEPEST = 9  # objects in objects, and JSON inside a JSON's string
_WORDS = ("message", "error", "errorMessage", "detail", "title", "error_description", "msg")  # the best first
_TORN = re.compile(r'"message"\s*:\s*"((?:[^"\\]|\\.)+)')  # of JSON that somebody cut short


def spoken(text: str) -> str:
    """The text with each JSON object replaced by the message in it: ``429 {"error": {"message": "Slow down"}}`` is
    ``429 Slow down``. JSON without one, and text without JSON, stay as they are: the record has the whole."""
    return _spoken(text, _DEEPEST)


def _spoken(text: str, depth: int) -> str:
    start = text.find("{")
    if start < 0 or not depth:
        return text
    try:
        data, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        torn = _TORN.search(text, start)
        return f"{text[:start]}{_plain(torn[1])}…" if torn else text
    message = _message(data, depth)
    rest = _spoken(text[end:], depth - 1)
    return f"{text[:start]}{text[start:end] if message is None else message}{rest}"


def _message(data: Any, depth: int) -> str | None:
    """The words of a parsed error: its own message, else that of the object inside it."""
    if isinstance(data, str):
        return _spoken(data, depth - 1).strip() or None
    if not isinstance(data, dict) or not depth:
        return None
    own = [data.get(name) for name in _WORDS]
    inside = [data["error"]] if isinstance(data.get("error"), dict) else []
    return next((found for one in (*inside, *own) if (found := _message(one, depth - 1)) is not None), None)


def _plain(escaped: str) -> str:
    """What stands in a JSON string that was cut short."""
    try:
        return str(json.loads(f'"{escaped}"'))
    except ValueError:
        return escaped
