"""What a batch may spend, and what it has spent: live sessions included."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from atomic.errors import PolicyError
from atomic.models import ModelRef
from atomic.policy import FallbackPolicy
from atomic.runner import price_table
from atomic.verdict.facts import Usage

NOTHING = Usage()


@dataclass(frozen=True, slots=True)
class Budget:
    """What an edition may spend in all; 0: no bound."""

    cost_usd: float = 0
    tokens: int = 0

    def spent(self, cost_usd: float, tokens: int) -> str | None:
        """Which bound is reached, in words; None while none is."""
        if 0 < self.cost_usd <= cost_usd:
            return f"the budget of ${self.cost_usd:g} is used up (${cost_usd:.4f} spent)"
        if 0 < self.tokens <= tokens:
            return f"the budget of {self.tokens:,} tokens is used up ({tokens:,} spent)"
        return None


class Meter:
    """Adds up what the runs of an edition use. Costs that nobody knows count as nothing: a lower bound."""

    def __init__(self, cost_usd: float = 0, tokens: int = 0) -> None:
        """What was spent before."""
        self._cost = cost_usd
        self._tokens = tokens
        self._live: dict[int, Usage] = {}

    def live(self, item: int, usage: Usage) -> None:
        """What an item's run has used so far, its attempts together."""
        self._live[item] = usage

    def ended(self, item: int, usage: Usage) -> None:
        """What an item's run has used in all."""
        self._live.pop(item, None)
        self._cost += usage.cost_usd or 0
        self._tokens += usage.tokens

    def at_least(self, cost_usd: float, tokens: int) -> None:
        """What is on record of all who carry the edition out: where others do, it is more than what was seen here."""
        self._cost, self._tokens = max(self._cost, cost_usd), max(self._tokens, tokens)

    @property
    def cost_usd(self) -> float:
        """Dollars, as far as known."""
        return self._cost + sum(usage.cost_usd or 0 for usage in self._live.values())

    @property
    def tokens(self) -> int:
        """Tokens of all sorts."""
        return self._tokens + sum(usage.tokens for usage in self._live.values())


def together(first: Usage, second: Usage) -> Usage:
    """The sum of two usages; the cost is None where neither is known."""
    known = [usage.cost_usd for usage in (first, second) if usage.cost_usd is not None]
    return Usage(
        input=first.input + second.input,
        output=first.output + second.output,
        cache_read=first.cache_read + second.cache_read,
        cache_write=first.cache_write + second.cache_write,
        cost_usd=sum(known) if known else None,
    )


def check_budget(budget: Budget, policies: Sequence[FallbackPolicy], price_known: Callable[[ModelRef], bool]) -> None:
    """Refuse a budget in dollars that could not be kept: a model's price is unknown and no token budget stands beside
    it. Raises PolicyError with ``models``."""
    if not budget.cost_usd or budget.tokens:
        return
    models = dict.fromkeys(model for policy in policies for model in policy.models)
    priceable = [str(model) for model in models if not price_known(model)]
    unpriced = list(priceable)
    if any(not policy.models for policy in policies):
        unpriced.append("the agent's own default model")
    if unpriced:
        raise PolicyError(
            f"a budget of ${budget.cost_usd:g} cannot be kept: nobody knows the price of {', '.join(unpriced)}",
            hint="Set a token budget beside it (--max-tokens), or write down the price: "
            f"{price_table(priceable)} in the settings, or the model's cost in the agent's models.json.",
            key="max_cost",
            models=unpriced,
        )
