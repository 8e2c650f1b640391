"""Usage, summed as the messages end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from atomic.verdict import fields
from atomic.verdict.facts import Usage

_COST_PARTS = ("input", "output", "cacheRead", "cacheWrite")


@dataclass(slots=True)
class Tally:
    """A sum of usages. Each message is counted once, by its ``message_end``; those that failed too: they are billed."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float = 0.0
    priced: int = 0  # messages that name their cost
    unpriced: int = 0  # messages that do not

    def add(self, usage: object) -> None:
        """Count the `usage` object of one message; anything else counts as a message of unknown usage."""
        said = fields.mapping(usage)
        self.input += fields.count(said.get("input"))
        self.output += fields.count(said.get("output"))
        self.cache_read += fields.count(said.get("cacheRead"))
        self.cache_write += fields.count(said.get("cacheWrite"))
        cost = _cost(fields.mapping(said.get("cost")))
        if cost is None:
            self.unpriced += 1
        else:
            self.priced += 1
            self.cost += cost

    def and_open(self, usage: object) -> Tally:
        """This sum and the `usage` that was told last of a message that has not ended; itself when that tells of
        nothing spent."""
        own = Tally()
        own.add(usage)
        if not (own.cost or own.usage().tokens):
            return self
        both = replace(self)
        both.add(usage)
        return both

    def usage(self) -> Usage:
        """The sum so far. The cost is None when no message named one; with no message at all nothing was spent."""
        known = self.priced or not self.unpriced
        return Usage(
            input=self.input,
            output=self.output,
            cache_read=self.cache_read,
            cache_write=self.cache_write,
            cost_usd=self.cost if known else None,
        )


def _cost(cost: Mapping[str, Any]) -> float | None:
    total = fields.amount(cost.get("total"))
    if total is not None:
        return total
    parts = [found for part in _COST_PARTS if (found := fields.amount(cost.get(part))) is not None]
    return sum(parts) if parts else None
