"""All that is said of some runs at once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import tzinfo

from flows.database import Database
from flows.history.facts import DayOutcome, Hop, KindCount, ModelCost, ModelDuration, Overview, RunFilter
from flows.history.sums import cost_by_model, durations, hops, kinds, outcomes_by_day, overview


@dataclass(frozen=True, slots=True)
class Summary:
    """What runs came to and cost."""

    overview: Overview
    days: tuple[DayOutcome, ...]
    models: tuple[ModelCost, ...]
    hops: tuple[Hop, ...]
    kinds: tuple[KindCount, ...]
    durations: tuple[ModelDuration, ...]


def summary(database: Database, asked: RunFilter, zone: tzinfo) -> Summary:
    """Sum up the runs that are meant. Raises DatabaseError."""
    return Summary(
        overview=overview(database, asked, zone),
        days=outcomes_by_day(database, asked, zone),
        models=cost_by_model(database, asked, zone),
        hops=hops(database, asked, zone),
        kinds=kinds(database, asked, zone),
        durations=durations(database, asked, zone),
    )
