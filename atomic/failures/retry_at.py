"""When to try again, as an error's text says it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from atomic.failures.parts import clip

# A time further away is damage, or an account's end: nobody waits for it.
FURTHEST = 400 * 86_400.0

_UNITS = {
    "millisecond": 0.001, "milliseconds": 0.001, "ms": 0.001,
    "second": 1.0, "seconds": 1.0, "sec": 1.0, "secs": 1.0, "s": 1.0,
    "minute": 60.0, "minutes": 60.0, "min": 60.0, "mins": 60.0, "m": 60.0,
    "hour": 3600.0, "hours": 3600.0, "hr": 3600.0, "hrs": 3600.0, "h": 3600.0,
    "day": 86_400.0, "days": 86_400.0, "d": 86_400.0,
    "week": 604_800.0, "weeks": 604_800.0, "w": 604_800.0,
}  # fmt: skip
_UNIT = "|".join(sorted(_UNITS, key=len, reverse=True))
_NUMBER = r"\d{1,12}(?:\.\d{1,12})?"
_SPAN = rf"~?(?:{_NUMBER} ?(?:{_UNIT})(?![a-z])[, ]{{0,2}}(?:and )?){{1,5}}"
_PIECE = re.compile(rf"({_NUMBER}) ?({_UNIT})(?![a-z])")
_AGAIN = r"(?:try(?:ing)? again|retry(?:ing)?|wait|available(?: again)?|resets?|refresh(?:es)?|renews?|access)"

# "try again in 1m30.5s", "retry after 30 seconds", "resets in 2 hours 5 minutes", "quota will reset after 2h31m10s"
_RELATIVE = re.compile(
    rf"\b{_AGAIN}\b[^.\n\d]{{0,40}}?\b(?:in|after|for)\b:? {{0,2}}(?:about |approximately )?({_SPAN})"
)
# Retry-After: 3 · "retry_after_ms": 1500 · "retryDelay":"17s" · "resets_in_seconds": 9180
_FIELD = re.compile(
    r"\b(?:retry[-_ ]?(?:after|delay|in)|resets?[-_ ]?(?:in|after))[-_ ]?(ms|milliseconds|seconds|secs?)?"
    rf"[\"']?\s{{0,2}}[:=]\s{{0,2}}[\"']?({_NUMBER}) ?({_UNIT})?(?![\w:-])"
)
_BARE = re.compile(r"\bretry[-_ ]after ([1-9]\d{0,6}(?:\.\d{1,6})?)(?=[.,;)\"'}\n]|\s{0,2}$)")
# "resets_at": 1796128025 (seconds or milliseconds) · usage limit reached|1760000400
_EPOCH = re.compile(
    r"(?:\b(?:resets?|retry|again|available|limit reached)\b|resets?[-_ ]?at|reset[-_ ]?time|retry[-_ ]?at|reached)"
    r"[^\d\n]{0,24}?(\d{10})(\d{3})?(?:\.\d{1,9})?(?!\d)"
)
_ISO = re.compile(
    rf"(?:\b(?:{_AGAIN}|until|reset[_-]?(?:at|time|s)|retry[_-]?at|on|at)\b|将[在于])[^\d\n]{{0,30}}?"
    r"(\d{4}-\d\d-\d\d)(?:t| at | )(\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?) ?(z|utc|gmt|[+-]\d\d:?\d\d)?"
)
_HTTP_DATE = re.compile(r"\bretry-after[\"']?\s{0,2}[:=]\s{0,2}[\"']?(\w{3}, \d{1,2} \w{3} \d{4} \d\d:\d\d:\d\d gmt)")
# Claude's plans say: resets 3pm (America/Los_Angeles); others: resets at 00:00 UTC
_CLOCK = re.compile(
    r"\bresets?(?: at)? (\d{1,2})(?::(\d\d))? ?(am|pm)? ?\(?([A-Za-z]{2,20}(?:/[A-Za-z_]{2,30}){0,2})\)?", re.IGNORECASE
)
_NOON = 12


def read_retry_at(text: str, now: float) -> float | None:
    """The time from which the text says a new try makes sense, in seconds since the epoch; None when it says none.

    `now` (seconds since the epoch) is when it was said. Times that are not after it are no times to wait for, and those
    more than 400 days away are absurd: both are passed over. A date without a zone is taken for UTC.
    """
    clipped = clip(text)
    for found in _times(clipped, clipped.lower(), now):
        if now < found <= now + FURTHEST:
            return found
    return None


def _times(text: str, lower: str, now: float) -> Iterator[float]:
    for match in _EPOCH.finditer(lower):
        yield int(match[1]) + int(match[2] or 0) / 1000
    for match in _ISO.finditer(lower):
        yield from _iso(match[1], match[2], match[3] or "")
    for match in _HTTP_DATE.finditer(lower):
        yield from _http_date(match[1])
    for match in _FIELD.finditer(lower):
        yield now + float(match[2]) * _UNITS.get(match[3] or match[1] or "s", 1.0)
    for match in _RELATIVE.finditer(lower):
        yield now + sum(float(number) * _UNITS[unit] for number, unit in _PIECE.findall(match[1]))
    for match in _BARE.finditer(lower):
        yield now + float(match[1])
    for match in _CLOCK.finditer(text):
        yield from _clock(match, now)


def _iso(day: str, time: str, zone: str) -> Iterator[float]:
    offset = zone if zone[:1] in {"+", "-"} else "+00:00"
    try:
        yield datetime.fromisoformat(f"{day}T{time}{offset}").timestamp()
    except (ValueError, OverflowError):
        return  # 2026-13-45 is no date


def _http_date(text: str) -> Iterator[float]:
    try:
        yield parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return


def _clock(match: re.Match[str], now: float) -> Iterator[float]:
    """The next time the clock of that zone shows the hour."""
    hour, minute, half = int(match[1]), int(match[2] or 0), (match[3] or "").lower()
    if not half and not match[2]:
        return
    if half:
        if not 1 <= hour <= _NOON:
            return
        hour = hour % _NOON + (_NOON if half == "pm" else 0)
    try:
        zone = UTC if match[4].upper() in {"UTC", "GMT"} else ZoneInfo(match[4])
        here = datetime.fromtimestamp(now, zone)
        then = here.replace(hour=hour, minute=minute, second=0, microsecond=0)
    except (ValueError, OverflowError, OSError, ZoneInfoNotFoundError):
        return  # no such hour or zone
    yield (then if then > here else then + timedelta(days=1)).timestamp()
