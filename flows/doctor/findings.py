"""What the doctor finds: one fact each, how bad it is, and what to do about it."""

from __future__ import annotations

from enum import StrEnum

from atomic.verdict.facts import Facts


class Level(StrEnum):
    """``fail``: something would fail as things are. ``warn``: it works, and may not go as one thinks."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Finding(Facts):
    """One finding. Texts hold no secrets, but may hold what others wrote: clean them before a terminal sees them."""

    about: str
    level: Level
    what: str
    to_do: str | None = None


def ok(about: str, what: str) -> Finding:
    """Something is as it should be."""
    return Finding(about=about, level=Level.OK, what=what)


def warn(about: str, what: str, to_do: str) -> Finding:
    """Something works, and may not go as one thinks."""
    return Finding(about=about, level=Level.WARN, what=what, to_do=to_do)


def fail(about: str, what: str, to_do: str | None) -> Finding:
    """Something would fail."""
    return Finding(about=about, level=Level.FAIL, what=what, to_do=to_do)
