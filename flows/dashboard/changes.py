"""What made one day dearer, or worse, than another: findings in words, the weightiest first. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from flows.cli.figures import several
from flows.dashboard.outcomes import words
from flows.dashboard.text import OWN_MODEL
from flows.dashboard.units import change, dollars, percent
from flows.history import ANSWERED, RUNNING, Comparison, ModelCost
from flows.history.facts import share

NOTABLE = 0.1  # of what it was before: less differs from day to day by itself
SAID = 3  # models, and kinds, of which it is said


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence, and the labels (of RunFilter) of the runs of the second day that it is about; None where it explains
    the one before it."""

    text: str
    labels: Mapping[str, Any] | None = field(default_factory=dict)
    dearest: bool = True  # whether the dearest of these runs tell more than the newest


@dataclass(frozen=True, slots=True)
class Shift:
    """What a model cost on both days; None where it was not asked, or has no price."""

    model: str | None
    a: ModelCost | None
    b: ModelCost | None

    @property
    def more(self) -> float:
        """How much more it cost on the second day, in dollars."""
        return _paid(self.b) - _paid(self.a)


def shifts(days: Comparison) -> list[Shift]:
    """All models of both days, the one whose cost changed most first."""
    a, b = ({one.model: one for one in day.models} for day in (days.a, days.b))
    found = [Shift(model, a.get(model), b.get(model)) for model in {**a, **b}]
    return sorted(found, key=lambda one: (-abs(one.more), one.model or ""))


def findings(days: Comparison) -> list[Finding]:
    """What changed."""
    return [*_cost(days), *_models(days), *_lost(days), *_hops(days), *_kinds(days)]


def signed(amount: float) -> str:
    """``+$12.30``, ``−$0.0400``."""
    return f"{'−' if amount < 0 else '+'}{dollars(abs(amount))}"


def _cost(days: Comparison) -> Iterator[Finding]:
    a, b = days.a.overview, days.b.overview
    if a.cost_usd is None or b.cost_usd is None or not a.runs or not b.runs:
        return
    more = b.cost_usd - a.cost_usd
    if not _notable(a.cost_usd, b.cost_usd):
        yield Finding(f"The cost hardly changed: {dollars(a.cost_usd)}, then {dollars(b.cost_usd)}.")
        return
    verb = "rose" if more > 0 else "fell"
    yield Finding(
        f"The cost {verb} from {dollars(a.cost_usd)} to {dollars(b.cost_usd)} ({change(a.cost_usd, b.cost_usd)})."
    )
    each_a, each_b = a.cost_usd / a.runs, b.cost_usd / b.runs
    of_number = (b.runs - a.runs) * each_a
    yield Finding(
        f"Of {signed(more)}, {signed(of_number)} come from the number of runs ({a.runs:,}, then {b.runs:,}) and "
        f"{signed(more - of_number)} from what a run costs ({dollars(each_a)}, then {dollars(each_b)}).",
        None,
    )


def _models(days: Comparison) -> Iterator[Finding]:
    whole = abs((days.b.overview.cost_usd or 0) - (days.a.overview.cost_usd or 0))
    for one in shifts(days)[:SAID]:
        if not one.more or abs(one.more) < NOTABLE * whole:
            continue
        before, after = (0 if side is None else side.attempts for side in (one.a, one.b))
        each = [None if side is None else side.cost_per_answer for side in (one.a, one.b)]
        an_answer = f", {dollars(each[0])} then {dollars(each[1])} an answer" if None not in each else ""
        text = f"{one.model or OWN_MODEL}: {signed(one.more)} ({before:,} attempts, then {after:,}{an_answer})."
        yield Finding(text, {"model": (one.model,)} if one.model else {})


def _lost(days: Comparison) -> Iterator[Finding]:
    a, b = (day.overview.failed_cost_usd or 0 for day in (days.a, days.b))
    if _notable(a, b):
        yield Finding(f"Attempts that failed cost {dollars(a)}, then {dollars(b)}.")


def _hops(days: Comparison) -> Iterator[Finding]:
    a, b = (share(day.overview.hopped, day.overview.answered) or 0.0 for day in (days.a, days.b))
    if _notable(a, b):
        text = f"Of the answers {percent(b)} came from another model than the first, after {percent(a)}."
        yield Finding(text, {"hopped": True})


def _kinds(days: Comparison) -> Iterator[Finding]:
    kinds = {*days.a.kinds, *days.b.kinds} - {ANSWERED, RUNNING}
    both = {kind: (days.a.kinds.get(kind, 0), days.b.kinds.get(kind, 0)) for kind in kinds}
    for kind in sorted(both, key=lambda one: (-abs(both[one][1] - both[one][0]), one))[:SAID]:
        a, b = both[kind]
        if _notable(a, b):
            labels = {"status": ("failed",), "kind": (kind,)}
            yield Finding(f"{words('failed', kind)} ended {several(a, 'run')}, then {b:,}.", labels, dearest=False)


def _notable(a: float, b: float) -> bool:
    return a != b and abs(b - a) >= NOTABLE * a


def _paid(one: ModelCost | None) -> float:
    return 0.0 if one is None else one.cost_usd or 0.0
