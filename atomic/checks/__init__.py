"""Checks of answers: a command that accepts or rejects, a JSON Schema that an answer must fit."""

from __future__ import annotations

from atomic.checks.facts import Checks
from atomic.checks.json_schema import fit, read_schema
from atomic.checks.sound import anchored, require_sound

__all__ = ["Checks", "anchored", "fit", "read_schema", "require_sound"]
