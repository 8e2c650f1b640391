"""What an agent says on stderr when it does not start."""

from __future__ import annotations

import re
from dataclasses import dataclass

from atomic.failures import FailureKind
from atomic.text import one_line

# The wordings of Atomic and pi (core/auth-guidance, core/model-resolver), and of wrappers around them. A model that is
# merely called something unusual is a warning there, and no failure: such lines are left out.
_CAUSES: tuple[tuple[FailureKind, re.Pattern[str]], ...] = (
    (
        FailureKind.AUTH,
        re.compile(
            r"no api key (?:found|for|set|configured)|api key (?:is |was )?(?:missing|required|not (?:set|found|provided|configured))"
            r"|(?:missing|invalid|incorrect|set your) api key|no credentials|not logged in|authentication (?:failed|required|error)"
            r"|(?:oauth|access|refresh) token (?:is |has )?(?:expired|invalid|revoked)|no models? (?:available|selected)\.?\s+use /login",
            re.IGNORECASE,
        ),
    ),
    (
        FailureKind.MODEL_UNAVAILABLE,
        re.compile(
            r"(?:model|provider) \S{1,200} (?:was )?not found|unknown (?:model|provider)\b|no models? match"
            r"|(?:model|provider) \S{1,200} (?:does not exist|is not (?:available|supported))",
            re.IGNORECASE,
        ),
    ),
)
# A crashing program may print a heap of megabytes; what it died of stands at its end, what it refused at its beginning.
_LONGEST = 16_000
_WARNING = re.compile(r"\s*warn(?:ing)?\b", re.IGNORECASE)
_TRACE = re.compile(r"\s*(?:at \S|\^+\s*$|Node\.js v\d|file://|node:internal)")


@dataclass(frozen=True, slots=True)
class Startup:
    """The kind that stderr names, if it names one, and the line that a person should read."""

    kind: FailureKind | None
    message: str


def read_startup(stderr: str) -> Startup:
    """What stderr says. Warnings and stack traces are no reason."""
    clipped = stderr if len(stderr) <= 2 * _LONGEST else f"{stderr[:_LONGEST]}\n{stderr[-_LONGEST:]}"
    lines = [line for line in clipped.splitlines() if line.strip() and not _WARNING.match(line)]
    text = "\n".join(lines)
    for kind, pattern in _CAUSES:
        if found := pattern.search(text):
            start = text.rfind("\n", 0, found.start()) + 1
            return Startup(kind, one_line(text[start:].split("\n", 1)[0]))
    return Startup(None, _telling(lines))


def _telling(lines: list[str]) -> str:
    plain = [line for line in lines if not _TRACE.match(line)]
    named = next((line for line in plain if re.match(r"\s*(?:\w*Error|error|fatal)\b", line)), None)
    return one_line(named or (plain[0] if plain else ""))
