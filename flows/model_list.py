"""What is known of models: their windows and prices, and whether their providers can be reached."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from atomic.agent import Agent
from atomic.models import ModelCatalog, ModelRef, Price
from atomic.providers import Answer, Credentials, Reach, ask_all
from atomic.verdict.facts import Facts, Usage

_SAMPLE = 1000  # tokens that are priced: few enough for the lowest step of a price that rises with the prompt
_MILLION = 1_000_000
_DIGITS = 6  # of a price; what the division leaves behind them is not a price


class ModelRow(Facts):
    """One model. ``window`` is in tokens, ``price`` in USD per million tokens; each None where nobody knows.

    ``reach`` is None where its provider was not asked; ``listed`` whether the provider lists it, None where that is not
    known; ``key`` is where the credential comes from; ``said`` is for people.
    """

    model: str
    window: int | None = None
    price: Price | None = None
    reach: Reach | None = None
    listed: bool | None = None
    key: str = ""
    said: str = ""


async def list_models(
    models: Iterable[ModelRef], agent: Agent, catalog: ModelCatalog, *, ask: bool = True
) -> list[ModelRow]:
    """A row for each model, in order, each once whatever its thinking level. ``ask``: ask the providers over HTTP."""
    refs = list({model.name: ModelRef(model.provider, model.id) for model in models}.values())
    answers: dict[str, Answer] = {}
    if ask and not agent.scripted:
        credentials = Credentials.of(agent)
        accesses = [credentials.access(name) for name in dict.fromkeys(ref.provider for ref in refs)]
        answers = {answer.provider: answer for answer in await ask_all(accesses)}
    return [_row(ref, catalog, answers.get(ref.provider)) for ref in refs]


def known_models(policies: Iterable[Sequence[ModelRef]], catalog: ModelCatalog) -> list[ModelRef]:
    """The models of all policies, then those that the agent's models.json and the user's table declare."""
    named = [model for models in policies for model in models]
    return [*named, *map(ModelRef.parse, (*catalog.agent, *catalog.table))]


def _row(ref: ModelRef, catalog: ModelCatalog, answer: Answer | None) -> ModelRow:
    row = ModelRow(model=ref.name, window=catalog.window(ref), price=_price(ref, catalog))
    if answer is None:
        return row
    told = {"reach": answer.reach, "listed": answer.lists(ref.id), "key": answer.source, "said": answer.said}
    return row.model_copy(update=told)


def _price(ref: ModelRef, catalog: ModelCatalog) -> Price | None:
    kinds = ("input", "output", "cacheRead", "cacheWrite")
    costs = [catalog.cost(ref, Usage.model_validate({kind: _SAMPLE})) for kind in kinds]
    if any(cost is None for cost in costs):
        return None
    each = [round((cost or 0) / _SAMPLE * _MILLION, _DIGITS) for cost in costs]
    return Price.model_validate(dict(zip(kinds, each, strict=True)))
