"""Keeps away: the price of the wrong model; usage counted from every repetition of a message; a price that nobody knows
shown as 0."""

from __future__ import annotations

import pytest

from atomic.models import ModelCatalog, ModelEntry, ModelRef, Price
from atomic.runner.costs import priced
from atomic.verdict.facts import Status, Usage, Verdict
from tests.agents import Place, closing, message, opening
from tests.pathology.stage import ask, lines, plays


async def test_a_message_counts_once_however_often_it_is_repeated(place: Place) -> None:
    said = message("done", tokens=100, cost=0.25)
    turn = {"type": "turn_end", "message": said["message"], "toolResults": []}
    end = {"type": "agent_end", "messages": [said["message"]]}
    updates = [{"type": "message_update", "message": said["message"]}] * 3
    record = await place.run(plays(place, lines(*opening(), *updates, said, turn, end, *closing()[1:])))
    assert record.verdict is not None
    assert (record.verdict.usage.input, record.verdict.cost_usd) == (100, 0.25)


async def test_failed_attempts_are_part_of_the_bill(place: Place) -> None:
    result = await ask(place, "x", "one/overflow-with-answer", "two/ok")
    costs = [verdict.cost_usd for verdict in result.verdicts]
    assert all(costs)
    assert result.cost_usd == pytest.approx(sum(cost or 0 for cost in costs))


def test_each_model_has_its_own_price_and_an_unknown_one_none() -> None:
    catalog = ModelCatalog(
        table={
            "a/cheap": ModelEntry(price=Price(input=1, output=1)),
            "a/dear": ModelEntry(price=Price(input=50, output=50)),
        }
    )
    used = Verdict(status=Status.ANSWERED, answered_by="a/dear", usage=Usage(input=1_000_000))
    assert priced(used, ModelRef.parse("a/cheap"), catalog).cost_usd == 50, "of the model that worked"
    nobody = used.model_copy(update={"answered_by": "no/body"})
    assert priced(nobody, None, catalog).cost_usd is None
