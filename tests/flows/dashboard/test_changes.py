"""What made one day dearer than another, in words."""

from __future__ import annotations

from datetime import date

from flows.dashboard.changes import findings, shifts
from flows.history import Comparison, DayFigures, ModelCost, Overview


def model(name: str, attempts: int, answers: int, cost: float | None) -> ModelCost:
    return ModelCost(name, attempts, answers, cost, None, 0, 1, 1, 0, 0)


def day(number: int, sums: Overview, models: tuple[ModelCost, ...], **kinds: int) -> DayFigures:
    return DayFigures(date(2026, 12, number), sums, kinds, models)


MONDAY = day(
    1,
    Overview(runs=100, answered=98, failed=2, hopped=2, cost_usd=10.0, failed_cost_usd=0.5),
    (model("a/one", 100, 98, 9.0), model("b/two", 5, 2, 1.0)),
    answered=98,
    crashed=2,
)
TUESDAY = day(
    2,
    Overview(runs=110, answered=100, failed=10, hopped=60, cost_usd=22.0, failed_cost_usd=4.0),
    (model("a/one", 110, 40, 4.0), model("b/two", 70, 60, 18.0), model("c/free", 3, 1, None)),
    answered=100,
    rate_limit=9,
    crashed=1,
)


def test_a_day_that_cost_twice_as_much_says_why() -> None:
    said = [one.text for one in findings(Comparison(MONDAY, TUESDAY))]
    assert said[0] == "The cost rose from $10.00 to $22.00 (+120.0 %)."
    assert "+$1.00 come from the number of runs (100, then 110) and +$11.00 from what a run costs" in said[1]
    assert said[2] == "b/two: +$17.00 (5 attempts, then 70, $0.5000 then $0.3000 an answer)."
    assert said[3].startswith("a/one: −$5.00")
    assert "Attempts that failed cost $0.5000, then $4.00." in said
    assert "Of the answers 60.0 % came from another model than the first, after 2.0 %." in said
    assert "rate limit ended 0 runs, then 9." in said


def test_findings_lead_to_the_runs_they_are_about() -> None:
    by_text = {one.text: one.labels for one in findings(Comparison(MONDAY, TUESDAY))}
    assert {"model": ("b/two",)} in by_text.values()
    assert {"hopped": True} in by_text.values()
    assert {"status": ("failed",), "kind": ("rate_limit",)} in by_text.values()


def test_days_alike_say_so_and_days_without_runs_say_nothing() -> None:
    [same] = findings(Comparison(MONDAY, MONDAY))
    assert same.text == "The cost hardly changed: $10.00, then $10.00."
    nothing = day(3, Overview(), ())
    assert findings(Comparison(nothing, nothing)) == []
    assert [one.model for one in shifts(Comparison(nothing, MONDAY))] == ["a/one", "b/two"]
