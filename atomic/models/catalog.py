"""What is known of models: context windows in tokens and prices in USD. Offline, from files and tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, Field

from atomic.models.ref import ModelRef
from atomic.verdict.facts import Facts, Usage

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo

_MILLION = 1_000_000


class Price(Facts):
    """USD per million tokens, by kind of token."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)
    input: float = Field(ge=0, description="USD per million tokens of input")
    output: float = Field(ge=0, description="USD per million tokens of output")
    cache_read: float = Field(default=0, ge=0, alias="cacheRead", description="USD per million tokens from the cache")
    cache_write: float = Field(default=0, ge=0, alias="cacheWrite", description="USD per million tokens into the cache")

    def of(self, usage: Usage) -> float:
        """What this usage costs, in USD."""
        return (
            usage.input * self.input
            + usage.output * self.output
            + usage.cache_read * self.cache_read
            + usage.cache_write * self.cache_write
        ) / _MILLION


class ModelEntry(Facts):
    """What somebody wrote down about a model: its window in tokens and its price, each None where they did not."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    window: int | None = Field(default=None, gt=0, description="tokens of its context")
    price: Price | None = Field(default=None, description="what its tokens cost")


@dataclass(frozen=True, slots=True)
class ModelCatalog:
    """Windows and prices of models, from three places in this order: the agent's own `models.json` (``agent``), the
    user's table (``table``), the data of the genai-prices package. Both mappings are keyed by `provider/id`.
    ``otherwise`` is the price of every model that the first two say nothing of, where the agent has one for all."""

    agent: Mapping[str, ModelEntry] = field(default_factory=dict)
    table: Mapping[str, ModelEntry] = field(default_factory=dict)
    otherwise: Price | None = None

    def names(self, ref: ModelRef) -> bool:
        """Whether the agent's `models.json` or the user's table has an entry of exactly this name."""
        return ref.name in self.agent or ref.name in self.table

    def window(self, ref: ModelRef) -> int | None:
        """A model's context window in tokens; None where nobody knows it."""
        for entries in (self.agent, self.table):
            entry = entries.get(ref.name)
            if entry is not None and entry.window is not None:
                return entry.window
        info = _known(ref)
        return None if info is None else info.context_window

    def price_known(self, ref: ModelRef) -> bool:
        """Whether a usage of this model can be priced."""
        return self._priced(ref, Usage()) is not None

    def cost(self, ref: ModelRef, usage: Usage) -> float | None:
        """What a usage costs in USD: what the stream itself said, else by the known price; None where nobody knows.
        A stream that says 0 says nothing: agents write it for models whose price they do not know."""
        return usage.cost_usd or self._priced(ref, usage)

    def _priced(self, ref: ModelRef, usage: Usage) -> float | None:
        for entries in (self.agent, self.table):
            entry = entries.get(ref.name)
            if entry is not None and entry.price is not None:
                return entry.price.of(usage)
        if self.otherwise is not None:
            return self.otherwise.of(usage)
        return _published_cost(ref, usage)


@cache
def _known(ref: ModelRef) -> ModelInfo | None:
    """What genai-prices knows of a model; imported on first use, since it takes half a second."""
    from genai_prices.data_snapshot import get_snapshot

    try:
        return get_snapshot().find_provider_model(ref.id, None, ref.provider, None)[1]
    except LookupError:
        return None


def _published_cost(ref: ModelRef, usage: Usage) -> float | None:
    info = _known(ref)
    if info is None or not any(price is not None for price in vars(info.get_prices(datetime.now(UTC))).values()):
        return None
    from genai_prices import Usage as Priced
    from genai_prices.data_snapshot import get_snapshot

    tokens: dict[str, Any] = {
        # genai-prices counts cached tokens as part of the input, the agent beside it
        "input_tokens": usage.input + usage.cache_read + usage.cache_write,
        "output_tokens": usage.output,
        "cache_read_tokens": usage.cache_read,
        "cache_write_tokens": usage.cache_write,
    }
    return float(get_snapshot().calc(Priced(**tokens), ref.id, ref.provider, None, None).total_price)
