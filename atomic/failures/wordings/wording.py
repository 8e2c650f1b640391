"""The shape of a kind's wordings."""

from __future__ import annotations

import re
from dataclasses import dataclass

from atomic.failures.kinds import FailureKind


@dataclass(frozen=True, slots=True)
class Wording:
    """What means one kind. Patterns see text in lower case and of bounded length."""

    kind: FailureKind
    codes: frozenset[str]  # of fields such as `code` and `type`
    words: re.Pattern[str]
    strong_statuses: frozenset[int] = frozenset()  # HTTP statuses that tell as much as words do
    statuses: frozenset[int] = frozenset()  # those that count when no words tell more
    unless: re.Pattern[str] | None = None  # takes a match back
    even_if: re.Pattern[str] | None = None  # and this makes it good all the same


def codes(text: str) -> frozenset[str]:
    """The codes in a text, separated by blanks."""
    return frozenset(text.split())


def words(*alternatives: str) -> re.Pattern[str]:
    """One pattern of all the alternatives. Gaps in them are bounded, so that hostile text costs no more than other."""
    return re.compile("|".join(alternatives))


# What passes within a minute or so, whatever else the text calls it: Gemini and Cerebras call their limits by the
# minute a quota, Anthropic and Bedrock speak of tokens.
SHORT_LIMITS = (
    r"per[ _-]?(?:minute|min|second|sec)(?![a-z])",
    r"perminute|persecond",
    r"\b[rt]pm\b",
    r"concurren(?:t|cy)",
    r"reset (?:after|in) \d{1,2}(?:\.\d{1,9})?s\b",
)
LONG_LIMITS = (
    r"per[ _-]?(?:day|week|month)(?![a-z])",
    r"perday|perweek|permonth",
    r"\b[rt]pd\b",
    r"\b(?:daily|weekly|monthly)\b",
)
