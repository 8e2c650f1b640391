"""What an agent says on stderr when it does not start."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from atomic.failures import FailureKind
from atomic.text import one_line
from atomic.verdict.signs import Sign

# The wordings of Atomic and pi (core/auth-guidance, core/model-resolver), and of wrappers around them.
_CAUSES: tuple[tuple[FailureKind, re.Pattern[str]], ...] = (
    (
        FailureKind.AUTH,
        re.compile(
            r"no api key (?:found|for|set|configured)"
            r"|api key (?:is |was )?(?:missing|required|invalid|not (?:set|found|provided|configured|valid))"
            r"|(?:missing|invalid|incorrect|set your) api key|no credentials|not logged in|use /login"
            r"|authentication (?:failed|required|error)"
            r"|(?:oauth|access|refresh) token (?:is |has )?(?:expired|invalid|revoked)",
        ),
    ),
    (
        FailureKind.MODEL_UNAVAILABLE,
        re.compile(
            r"(?:model|provider) \S{1,200} (?:was )?not found|unknown (?:model|provider)\b|no models? match"
            r"|(?:model|provider) \S{1,200} (?:does not exist|is not (?:available|supported))",
        ),
    ),
)
# A crashing program may print a heap of megabytes; what it died of stands at its end, what it refused at its beginning.
_LONGEST = 16_000
_LONGEST_LINE = 500
# An agent warns of a model it does not know and uses it all the same: a warning is no reason.
_WARNING = re.compile(r"\s*warn(?:ing)?\b", re.IGNORECASE)
_TRACE = re.compile(r"\s*(?:at \S|\^+\s*$|node\.js v\d|file://|node:internal)", re.IGNORECASE)
_ERROR = re.compile(r"\s*(?:\w*error|fatal)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Startup:
    """The kind that stderr names, if it names one, and the line of it that a person should read: its `line` and
    `offset` are those of the clipped text."""

    kind: FailureKind | None
    at: Sign | None


def read_startup(stderr: str) -> Startup:
    """What stderr says. Warnings and stack traces are no reason."""
    lines = list(_lines(stderr))
    for kind, pattern in _CAUSES:
        for found in lines:
            if pattern.search(found.text.lower()):
                return Startup(kind, found)
    plain = [found for found in lines if not _TRACE.match(found.text)]
    named = next((found for found in plain if _ERROR.match(found.text)), None)
    return Startup(None, named or next(iter(plain), None))


def _lines(stderr: str) -> Iterator[Sign]:
    clipped = stderr if len(stderr) <= 2 * _LONGEST else f"{stderr[:_LONGEST]}\n{stderr[-_LONGEST:]}"
    offset = 0
    for number, line in enumerate(clipped.split("\n"), start=1):
        if line.strip() and not _WARNING.match(line):
            yield Sign("stderr", number, offset, one_line(line, _LONGEST_LINE))
        offset += len(line.encode("utf-8", "surrogatepass")) + 1
