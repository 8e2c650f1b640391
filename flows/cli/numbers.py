"""Numbers of the command line: one that is none, has no end or is too large is a usage error, before all else."""

from __future__ import annotations

import math

import typer

LONGEST = 1e9  # seconds, some thirty years: beyond it a clock runs over
MOST_DOLLARS = 1e12  # beyond it a double does not tell cents
MOST = 2**63 - 1  # of anything counted: the largest integer that a record holds


def dollars(text: str) -> float:
    """USD, from 0 on."""
    return _bounded(text, MOST_DOLLARS, "dollars, as 2.50; 0: no bound")


def seconds(text: str) -> float:
    """Seconds, from 0 on."""
    return _bounded(text, LONGEST, "seconds, as 90; 0: no bound")


def count(text: str) -> int:
    """A whole number, from 0 on."""
    return _whole(text, 0)


def some(text: str) -> int:
    """A whole number, from 1 on."""
    return _whole(text, 1)


def _bounded(text: str, most: float, what: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number <= most:  # what is no number is within no bounds
        raise typer.BadParameter(f"{str(text)[:40]!r} is no number from 0 to {most:,.0f}: give {what}")
    return number


def _whole(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = -1
    if not least <= number <= MOST:
        raise typer.BadParameter(f"{str(text)[:40]!r} is no whole number from {least} to 2^63-1")
    return number
