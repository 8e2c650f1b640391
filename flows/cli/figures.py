"""Numbers as people read them."""

from __future__ import annotations

import math
import time


def count(number: int) -> str:
    """``950``, ``12.3k``, ``4.1M``."""
    for limit, unit in ((1_000_000, "M"), (1_000, "k")):
        if number >= limit:
            return f"{number / limit:.1f}{unit}"
    return str(number)


def several(number: int, one: str, many: str | None = None) -> str:
    """``1 turn``, ``2 turns``, ``2 retries``."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def money(dollars: float | None) -> str:
    """``$0.0312``; "cost unknown" where nobody knows, which is not nothing."""
    if dollars is None:
        return "cost unknown"
    return f"${dollars:.2f}" if dollars >= 1 or dollars == 0 else f"${dollars:.4f}"


def duration(seconds: float) -> str:
    """``0.4 s``, ``12 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if not math.isfinite(seconds):
        return "?"
    if seconds < 10:
        return f"{max(seconds, 0):.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if rest else f"{hours} h"


def clock(at: float) -> str:
    """Local time of day; with the date where it is not today's. ``?`` for a time that no calendar has."""
    try:
        moment = time.localtime(at)
    except (OverflowError, ValueError, OSError):
        return "?"
    today = time.localtime()
    return time.strftime("%H:%M:%S" if moment[:3] == today[:3] else "%Y-%m-%d %H:%M", moment)
