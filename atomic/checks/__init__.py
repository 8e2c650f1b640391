"""Checks of answers: a command that accepts or rejects, a JSON Schema that an answer must fit."""

from __future__ import annotations

from atomic.checks.facts import Checks
from atomic.checks.json_schema import fit, read_schema
from atomic.checks.sound import anchored, laid_over, require_sound

__all__ = ["Checks", "anchored", "fit", "laid_over", "read_schema", "require_sound"]
