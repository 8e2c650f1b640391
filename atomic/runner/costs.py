"""What an attempt cost, and what is left for the next one."""

from __future__ import annotations

from collections.abc import Sequence

from atomic.errors import ModelRefError
from atomic.models import ModelCatalog, ModelRef
from atomic.policy import FallbackPolicy, Limits
from atomic.verdict.facts import Usage, Verdict

_LEAST_COST = 1e-9  # USD: below the price of any token


def can_be_priced(verdict: Verdict) -> bool:
    """Whether the stream named no cost of what one model used. Several models in one session (the agent's own
    fallback) leave it unknown: their usage is not told apart."""
    return verdict.cost_usd is None and not verdict.inner_fallbacks and verdict.usage.tokens > 0


def priced(verdict: Verdict, model: ModelRef | None, catalog: ModelCatalog) -> Verdict:
    """The verdict with its cost, where the catalog knows the price of the model that worked. The first call may take
    half a second, for the price table."""
    worked = _ref(verdict.answered_by) or model
    cost = None if worked is None else catalog.cost(worked, verdict.usage)
    if cost is None:
        return verdict
    usage = verdict.usage.model_copy(update={"cost_usd": cost})
    return verdict.model_copy(update={"cost_usd": cost, "usage": usage})


def left_of(limits: Limits, verdicts: Sequence[Verdict]) -> Limits:
    """The limits of the next attempt: of the run's tokens and dollars, what the earlier ones left over. Never 0 where
    there is a bound, since 0 means none; :func:`atomic.policy.decide` starts nothing once a budget is used up."""
    tokens = sum(verdict.usage.tokens for verdict in verdicts)
    cost = sum(verdict.cost_usd or 0 for verdict in verdicts)
    left = {
        "tokens": max(1, limits.tokens - tokens) if limits.tokens else 0,
        "cost_usd": max(_LEAST_COST, limits.cost_usd - cost) if limits.cost_usd else 0,
    }
    return limits.model_copy(update=left)


def ceiling_usd(policy: FallbackPolicy, catalog: ModelCatalog) -> float | None:
    """The most that the tokens of a run may cost in USD: all of them at the highest price of its models. None where
    tokens have no bound, or nobody knows the price of a model."""
    tokens = policy.limits.tokens
    if not tokens or not policy.models or not all(map(catalog.price_known, policy.models)):
        return None
    kinds = (Usage(input=tokens), Usage(output=tokens), Usage(cache_read=tokens), Usage(cache_write=tokens))
    return max(catalog.cost(model, usage) or 0 for model in policy.models for usage in kinds)


def _ref(text: str | None) -> ModelRef | None:
    try:
        return None if text is None else ModelRef.parse(text)
    except ModelRefError:
        return None  # the stream's word, which may be anything
