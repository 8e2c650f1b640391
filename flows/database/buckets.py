"""Durations in buckets: what a percentile of a million runs is read from, right to 5 %."""

from __future__ import annotations

import math

RATIO = 1.1  # of a bucket's two ends: its middle is within 4.9 % of all that is in it
SHORTEST = 0.001  # seconds: what is shorter is in the same bucket
_STEP = math.log(RATIO)


def bucket_of(seconds: float | None) -> int | None:
    """The bucket of a duration; None where nobody measured it."""
    if seconds is None or not math.isfinite(seconds):
        return None
    return math.floor(math.log(max(seconds, SHORTEST)) / _STEP)


def seconds_of(bucket: int) -> float:
    """The middle of a bucket, in seconds."""
    return math.exp((bucket + 0.5) * _STEP)
