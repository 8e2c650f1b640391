"""How outcomes look: each kind belongs to a family, which has a colour, a sign and a word."""

from __future__ import annotations

from dataclasses import dataclass

from atomic.failures import FailureKind as Kind


@dataclass(frozen=True, slots=True)
class Family:
    """``name`` is also the name of its colour in the style sheet, and of the class that wears it."""

    name: str
    sign: str
    title: str


ANSWERED = Family("answered", "✓", "answered")
RUNNING = Family("running", "●", "running")
SIZE = Family("size", "▲", "too large")
WAITS = Family("waits", "◷", "rate or quota")
PROVIDER = Family("provider", "⌁", "provider")
AGENT = Family("agent", "✕", "failed")
STOPPED = Family("stopped", "■", "stopped")

_OF_KIND = {
    **dict.fromkeys((Kind.OVERFLOW, Kind.OUTPUT_LIMIT), SIZE),
    **dict.fromkeys((Kind.RATE_LIMIT, Kind.QUOTA), WAITS),
    **dict.fromkeys((Kind.AUTH, Kind.MODEL_UNAVAILABLE, Kind.PROVIDER_UNAVAILABLE, Kind.NETWORK), PROVIDER),
    **dict.fromkeys((Kind.ABORTED, Kind.TIMEOUT, Kind.BUDGET, Kind.CANCELLED, Kind.INTERRUPTED), STOPPED),
}


def family_of(status: str | None, kind: str | None) -> Family:
    """The family of an outcome, as status and kind tell it; a kind that is not known failed like any other."""
    if status == "answered":
        return ANSWERED
    if status is None or status == "running":
        return RUNNING
    try:
        return _OF_KIND.get(Kind(kind or Kind.UNKNOWN), AGENT)
    except ValueError:
        return AGENT


def words(status: str | None, kind: str | None) -> str:
    """The outcome in words: ``answered``, ``running``, else the kind."""
    if status == "answered":
        return "answered"
    return (kind or "failed").replace("_", " ") if status == "failed" else "running"


def pattern_of(kind: str) -> int:
    """Which of the patterns a kind has, so that kinds of one family, which share a colour, can be told apart."""
    family = family_of("failed", kind)
    alike = [str(one) for one in Kind if family_of("failed", one) is family]
    return alike.index(kind) if kind in alike else len(alike)
