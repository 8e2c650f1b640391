"""What a batch is going to do, before it does anything: the facts of a dry run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from atomic.policy import FallbackPolicy
from flows.inputs.checking import Checked

Choose = Callable[[str | None, tuple[str, ...]], FallbackPolicy]


@dataclass(frozen=True, slots=True)
class Share:
    """Items that are run alike. ``policy`` is the name they give, None where the batch's own holds; ``models`` are
    those that will be asked, in order, none for the agent's own default. ``cost_usd`` is the most that one of them
    may cost, None where its policy sets no bound."""

    policy: str | None
    models: tuple[str, ...]
    items: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class Forecast:
    """``ceiling_usd`` is the most that the batch may cost, None where nothing bounds it. Budgets are watched from
    live usage, so that a message under way may pass one by its own price. ``unbounded`` items have no bound of their
    own; ``ignored`` counts what lines say and no agent is told."""

    items: int
    shares: tuple[Share, ...]
    ceiling_usd: float | None
    unbounded: int
    ignored: Mapping[str, int]


def forecast(checked: Checked, choose: Choose, *, budget_usd: float | None = None) -> Forecast:
    """What the items of a checked input come to.

    ``choose`` gives the policy for what an item says (policy, models), as the batch will choose it: all that it
    raises goes through. ``budget_usd`` is the budget of the whole batch; None for none.
    """
    shares = []
    for choice, items in checked.choices.items():
        policy = choose(choice.policy, choice.models)
        models = tuple(map(str, policy.models))
        shares.append(Share(choice.policy, models, items, policy.limits.cost_usd or None))
    unbounded = sum(share.items for share in shares if share.cost_usd is None)
    bounds = [] if budget_usd is None else [budget_usd]
    if not unbounded:
        bounds.append(sum(share.items * (share.cost_usd or 0) for share in shares))
    return Forecast(checked.count, tuple(shares), min(bounds, default=None), unbounded, checked.ignored)
