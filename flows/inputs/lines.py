"""Inputs of one item a line: JSON objects, or prompts."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator

from atomic.framing.decode import decode
from flows.inputs.facts import Problem, Row, Rules
from flows.inputs.source import numbered_lines


def read_jsonl(file: io.BufferedReader, rules: Rules) -> Iterator[Row | Problem]:
    """The rows of a JSONL file; blank lines are passed over. A row without an id is named by its line."""
    for n, line in numbered_lines(file):
        if not line.strip():
            continue
        try:
            fields = decode(line)
        except ValueError as error:
            yield rules.problem(n, None, _no_object(error))
        else:
            yield Row(n, f"line-{n}", fields)


def read_text(file: io.BufferedReader, rules: Rules) -> Iterator[Row | Problem]:
    """One prompt a line, as it stands there; blank lines are passed over."""
    for n, line in numbered_lines(file):
        if not line.strip():
            continue
        try:
            prompt = line.decode()
        except UnicodeDecodeError as error:
            yield rules.problem(n, "prompt", no_text(error.object[error.start]))
        else:
            yield Row(n, f"line-{n}", {"prompt": prompt})


def no_text(byte: int) -> str:
    """What is said of bytes that are no text."""
    return f"it is no UTF-8 text: it holds the byte {byte:#04x}"


def _no_object(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"it is no JSON: {error.msg[:1].lower()}{error.msg[1:]} at column {error.colno}"
    if isinstance(error, UnicodeDecodeError):
        return no_text(error.object[error.start])
    if str(error) == "not an object":
        return 'expected an object, as in {"custom_id": "a", "prompt": "…"}'
    return f"it is no JSON: {error}"
