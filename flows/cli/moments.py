"""Moments as people write them: ``2d`` ago, ``2026-12-01``, ``2026-12-01T08:30``."""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta

from atomic.errors import UsageError

_AGO = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)\s*([smhdw])", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DAY = re.compile(r"\d{4}-?\d\d-?\d\d", re.ASCII)


def since(text: str, now: float | None = None) -> float:
    """The moment that a text means, in seconds since the epoch; a day means its beginning. What names no time zone is
    local time. Raises UsageError."""
    return _moment(text, time.time() if now is None else now, days=0)


def until(text: str, now: float | None = None) -> float:
    """The same for the end of a span: a day counts whole."""
    return _moment(text, time.time() if now is None else now, days=1)


def _moment(text: str, now: float, *, days: int) -> float:
    ago = _AGO.fullmatch(text.strip().lower())
    if ago:
        return max(now - float(ago[1]) * _SECONDS[ago[2]], 0.0)
    try:
        moment = datetime.fromisoformat(text.strip())
        if _DAY.fullmatch(text.strip()):
            moment += timedelta(days=days)
        return max(moment.timestamp(), 0.0)  # a naive one is taken for local time
    except (ValueError, OverflowError, OSError):
        raise UsageError(
            f"{text!r} is no moment", hint="write 2026-12-01, 2026-12-01T08:30, or how long ago: 45m, 12h, 2d, 3w"
        ) from None
