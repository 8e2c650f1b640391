"""Deadlines as people write them: ``6h`` from now, ``06:00``, ``2026-12-01T06:00``."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, tzinfo

from atomic.errors import UsageError

_SPAN = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)\s*([smhd])", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)", re.ASCII)


def deadline_at(text: str, now: float, zone: tzinfo | None = None) -> float:
    """The moment that a text means, in seconds since the epoch: so long after ``now``, the next such time of day in the
    zone (None: local time), or a whole date and time. Raises UsageError, also for a moment that has passed."""
    given = text.strip()
    if span := _SPAN.fullmatch(given.lower()):
        return now + float(span[1]) * _SECONDS[span[2]]
    try:
        moment = _next_time(given, now, zone) or datetime.fromisoformat(given)
        if moment.tzinfo is None and zone is not None:
            moment = moment.replace(tzinfo=zone)
        at = moment.timestamp()  # a naive one is taken for local time
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"{text!r} is no deadline", hint="write 45m, 6h, 06:00 or 2026-12-01T06:00") from None
    if at <= now:
        raise UsageError(f"the deadline {text} has passed", hint="write 45m, 6h, 06:00 or a date to come")
    return at


def _next_time(text: str, now: float, zone: tzinfo | None) -> datetime | None:
    """The next moment at which a clock in the zone shows this; None where the text is no time of day."""
    clock = _CLOCK.fullmatch(text)
    if clock is None:
        return None
    today = datetime.fromtimestamp(now, zone)
    at = today.replace(hour=int(clock[1]), minute=int(clock[2]), second=0, microsecond=0)
    return at if at.timestamp() > now else at + timedelta(days=1)
