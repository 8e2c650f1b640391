"""The JSON Schema of ``atomic-flows.toml``, made from the models that read it: for editors, and for programs."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from atomic.policy import FallbackPolicy
from atomic.settings.facts import Settings

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_NOT_IN_FILES = ("home", "sources")  # set by where we are, never by a file
_EXTENDS = {"type": "string", "description": "the policy that this one is laid over, by its name"}


def settings_schema() -> dict[str, Any]:
    """The schema, draft 2020-12. What it accepts need not load: that policies extend each other in a circle, or that a
    file needs trust, no schema says."""
    whole = TypeAdapter(tuple[Settings, FallbackPolicy]).json_schema(by_alias=True)
    parts = {name: _tidied(part) for name, part in whole["$defs"].items()}
    settings = parts.pop("Settings")["properties"]
    parts["FallbackPolicy"]["properties"]["extends"] = _EXTENDS
    for part in parts.values():
        part.pop("description", None)  # what a model says of itself is for Python
    return {
        "$schema": DIALECT,
        "title": "atomic-flows.toml",
        "description": "Settings of atomic-flows.",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            **{name: table for name, table in settings.items() if name not in _NOT_IN_FILES},
            "policy": {
                "type": "object",
                "description": "policies by name; `default` is that of a run that names none",
                "additionalProperties": {"$ref": "#/$defs/FallbackPolicy"},
            },
        },
        "$defs": parts,
    }


def _tidied(schema: Any) -> Any:
    """Without the titles that repeat the names of keys, without null, which TOML has not, and without the defaults of
    whole tables, whose keys have their own."""
    if isinstance(schema, list):
        return [_tidied(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    tidy = {key: _tidied(value) for key, value in schema.items() if key != "title" or not isinstance(value, str)}
    if isinstance(schema.get("default", 0), dict | None):
        del tidy["default"]
    kinds = [kind for kind in tidy.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) == 1:
        del tidy["anyOf"]
        tidy |= kinds[0]
    return tidy
