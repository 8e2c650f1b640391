"""Deadlines as people write them."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from atomic.errors import UsageError
from flows.deadlines import deadline_at

BERLIN = ZoneInfo("Europe/Berlin")
NOON = datetime(2026, 12, 1, 12, tzinfo=BERLIN).timestamp()


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("45m", datetime(2026, 12, 1, 12, 45, tzinfo=BERLIN)),
        ("6h", datetime(2026, 12, 1, 18, tzinfo=BERLIN)),
        ("1.5 d", datetime(2026, 12, 3, tzinfo=BERLIN)),
        ("18:30", datetime(2026, 12, 1, 18, 30, tzinfo=BERLIN)),
        ("6:00", datetime(2026, 12, 2, 6, tzinfo=BERLIN)),
        ("12:00", datetime(2026, 12, 2, 12, tzinfo=BERLIN)),
        ("2026-12-24T08:00", datetime(2026, 12, 24, 8, tzinfo=BERLIN)),
        ("2026-12-24T08:00+00:00", datetime(2026, 12, 24, 9, tzinfo=BERLIN)),
    ],
)
def test_a_deadline_is_a_span_a_time_of_day_or_a_date(text: str, at: datetime) -> None:
    assert deadline_at(text, NOON, BERLIN) == at.timestamp()


def test_without_a_zone_the_clock_is_the_machines() -> None:
    assert deadline_at("2026-12-24T08:00", NOON) == datetime(2026, 12, 24, 8).timestamp()  # noqa: DTZ001


@pytest.mark.parametrize("text", ["", "soon", "25:00", "12:60", "6 weeks", "-6h", "99999-01-01"])
def test_what_is_no_deadline_is_refused_with_examples(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        deadline_at(text, NOON, BERLIN)
    assert "06:00" in str(caught.value.hint)


def test_one_that_has_passed_is_refused() -> None:
    with pytest.raises(UsageError, match="has passed"):
        deadline_at("2026-11-30", NOON, BERLIN)


def test_a_time_of_day_keeps_its_hour_over_the_change_of_clocks() -> None:
    before = datetime(2026, 3, 28, 12, tzinfo=BERLIN).timestamp()
    assert deadline_at("06:00", before, BERLIN) == datetime(2026, 3, 29, 6, tzinfo=BERLIN).timestamp()
