"""What a batch would come to, and what it came to, for a person."""

from __future__ import annotations

import sys
from typing import Any

from atomic.text import one_line, printable
from flows.batch import BatchRequest, BatchResult, Ending
from flows.batch.results import RESULTS
from flows.cli.figures import count, duration, money
from flows.cli.output import BOLD, DIM, GREEN, RED, YELLOW, paint, say
from flows.cli.sentences import OWN_MODEL
from flows.inputs import Forecast

SHOWN_MODELS = 400  # characters
REASON = 600


def tell_batch(result: BatchResult, page: str | None = None) -> None:
    """How it ended, where the results are, and how to go on. ``page``: of the batch in Prefect's UI."""
    say(f"{_head(result)}  {paint(' · '.join(_figures(result)), DIM)}")
    if result.reason:
        say(f"  {one_line(result.reason, REASON)}")
    for kind, n in result.kinds.items():
        say(f"  {paint(str(n).rjust(6), RED)} {kind}")
    rows = {"results": result.results, "errors": result.errors if result.failed else "", "go on": result.go_on}
    for name, text in (rows | {"page": page or ""}).items():
        if text:
            say(f"  {paint(name.ljust(7), DIM)}  {printable(text)}")


def _head(result: BatchResult) -> str:
    if result.ending in (Ending.FINISHED, Ending.LIMIT) and not result.failed:
        sign, colour = "✓", GREEN
    else:
        sign, colour = ("✗", RED) if result.ending in (Ending.FINISHED, Ending.HALTED) else ("■", YELLOW)
    ending = "" if result.ending is Ending.FINISHED else f"{result.ending}: "
    left = f", {result.left} left" if result.left else ""
    counted = f"{ending}{result.answered} of {result.total} answered, {result.failed} failed{left}"
    return paint(f"{sign} {counted}", colour, BOLD)


def _figures(result: BatchResult) -> list[str]:
    unpriced = f" ({result.unpriced} runs of unknown cost)" if result.unpriced and result.cost_usd is not None else ""
    return [
        f"{one_line(result.batch, 80)}, edition {one_line(result.edition)}",
        f"{result.ran} run now",
        duration(result.seconds),
        f"{count(result.tokens)} tokens",
        f"{money(result.cost_usd)}{unpriced}",
    ]


def forecast_lines(request: BatchRequest, told: Forecast) -> list[str]:
    """Items, policies, models and the ceiling of cost, in lines for stdout."""
    rows = [
        ("batch", one_line(request.name)),
        ("input", f"{printable(str(request.checked.path))}  {told.items} items, {request.checked.format}"),
        ("results", printable(str(request.output / RESULTS))),
    ]
    for share in told.shares:
        models = one_line(" → ".join(share.models) or OWN_MODEL, SHOWN_MODELS)
        most = f"  at most {money(share.cost_usd)} each" if share.cost_usd is not None else ""
        named = one_line(share.policy) if share.policy else "the batch's policy"
        rows.append(("policy", f"{named}  {share.items} items  {models}{most}"))
    rows.append(("cost", _ceiling(told)))
    if request.budget.tokens:
        rows.append(("tokens", f"at most {request.budget.tokens:,} in all"))
    rows += [("ignored", f"{one_line(name)} of {n} items: no agent is told of it") for name, n in told.ignored.items()]
    if request.asked.limit is not None:
        rows.append(("limit", f"{request.asked.limit} items now"))
    return [f"{paint(name.ljust(7), DIM, stream=sys.stdout)}  {text}" for name, text in rows]


def _ceiling(told: Forecast) -> str:
    if told.ceiling_usd is not None:
        return f"at most {money(told.ceiling_usd)} in all; a message under way may pass it by its own price"
    of = "no item" if told.unbounded == told.items else f"{told.unbounded} items"
    bounded = "has a bound" if told.unbounded == told.items else "have no bound"
    return f"nothing bounds it: {of} {bounded} (--max-cost, or limits.cost_usd of the policy)"


def forecast_json(request: BatchRequest, told: Forecast) -> dict[str, Any]:
    """The same as plain values."""
    return {
        "batch": request.name,
        "input": str(request.checked.path.absolute()),
        "format": request.checked.format,
        "items": told.items,
        "results": str(request.output / RESULTS),
        "policies": [
            {"policy": share.policy, "models": list(share.models), "items": share.items, "cost_usd": share.cost_usd}
            for share in told.shares
        ],
        "ceiling_usd": told.ceiling_usd,
        "unbounded": told.unbounded,
        "max_tokens": request.budget.tokens or None,
        "limit": request.asked.limit,
        "ignored": dict(told.ignored),
    }
