"""Plausible numbers of tokens and dollars."""

from __future__ import annotations

from typing import Any

CHARACTERS_A_TOKEN = 4
SYSTEM_TOKENS = 1200  # what a system prompt and the tools' descriptions come to

# Dollars a token, near those of today's middle-sized models.
INPUT_PRICE = 3e-6
OUTPUT_PRICE = 15e-6
CACHE_READ_PRICE = 0.3e-6
DIGITS = 9  # of dollars: sums that people read


def tokens(text: str) -> int:
    """About how many tokens a text has; at least one for a text that is not empty."""
    return -(-len(text) // CHARACTERS_A_TOKEN)


def usage(*, fresh: int = 0, cached: int = 0, output: int = 0) -> dict[str, Any]:
    """The wire's usage object for so many tokens read anew, read from the cache, and written."""
    cost = {
        "input": round(fresh * INPUT_PRICE, DIGITS),
        "output": round(output * OUTPUT_PRICE, DIGITS),
        "cacheRead": round(cached * CACHE_READ_PRICE, DIGITS),
        "cacheWrite": 0,
    }
    return {
        "input": fresh,
        "output": output,
        "cacheRead": cached,
        "cacheWrite": 0,
        "reasoning": 0,
        "totalTokens": fresh + cached + output,
        "cost": {**cost, "total": round(sum(cost.values()), DIGITS)},
    }
