"""The history of runs: what ran, what it came to, what it cost, and why it fell back.

database = Database.open(url, home=home)
asked = RunFilter(status=("failed",), since=time.time() - 86_400)
page = runs_page(database, asked, limit=50)
page = runs_page(database, asked, after=page.next, limit=50)
figures = overview(database, RunFilter())
"""

from __future__ import annotations

from flows.history.batches import batches_page, editions_of
from flows.history.compare import compare
from flows.history.facts import (
    ANSWERED,
    RUNNING,
    AttemptRow,
    BatchPage,
    BatchRow,
    Comparison,
    Cursor,
    DayFigures,
    DayOutcome,
    DaySpend,
    EditionRow,
    Facets,
    Hop,
    KindCount,
    ModelCost,
    ModelDuration,
    ModelHealth,
    Overview,
    Page,
    Rank,
    RankedPage,
    RunFilter,
    RunRow,
)
from flows.history.health import facets, health
from flows.history.pages import attempts_of, ranked_page, run_row, run_rows, runs_page
from flows.history.sums import cost_by_model, durations, hops, kinds, outcomes_by_day, overview, spend_by_day
from flows.history.zones import local_zone

__all__ = [
    "ANSWERED",
    "RUNNING",
    "AttemptRow",
    "BatchPage",
    "BatchRow",
    "Comparison",
    "Cursor",
    "DayFigures",
    "DayOutcome",
    "DaySpend",
    "EditionRow",
    "Facets",
    "Hop",
    "KindCount",
    "ModelCost",
    "ModelDuration",
    "ModelHealth",
    "Overview",
    "Page",
    "Rank",
    "RankedPage",
    "RunFilter",
    "RunRow",
    "attempts_of",
    "batches_page",
    "compare",
    "cost_by_model",
    "durations",
    "editions_of",
    "facets",
    "health",
    "hops",
    "kinds",
    "local_zone",
    "outcomes_by_day",
    "overview",
    "ranked_page",
    "run_row",
    "run_rows",
    "runs_page",
    "spend_by_day",
]
