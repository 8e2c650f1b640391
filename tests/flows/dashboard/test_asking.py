"""What an address asks for: whatever it says, and back into it."""

from __future__ import annotations

from datetime import UTC, date, timedelta
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.dashboard.asking import HOPPED, ORDERS, STATUSES, WINDOWS, Question, Window, days, read_question
from flows.history import RunFilter
from tests.browser.corpus import PAYLOADS

NOW = 1_790_000_000.0  # 2026-09-21, 14:13:20 in UTC

texts = (st.text(min_size=1, max_size=30) | st.sampled_from(PAYLOADS)).map(
    lambda text: text.replace("\0", "").encode("utf-8", "ignore").decode().strip() or "x"
)
lists = st.lists(texts, max_size=3, unique=True).map(tuple)
dates = st.dates(date(1971, 1, 1), date(2100, 1, 1))
windows = st.sampled_from([Window(name) for name in WINDOWS]) | st.builds(
    lambda first, n: days(first, first + timedelta(days=n)), dates, st.integers(0, 900)
)
questions = st.builds(
    Question,
    window=windows,
    labels=st.builds(
        RunFilter,
        status=st.lists(st.sampled_from(STATUSES), max_size=2, unique=True).map(tuple),
        kind=lists,
        model=lists,
        provider=lists,
        tag=lists,
        batch=st.none() | texts,
        edition=st.none() | texts,
        name=st.none() | texts,
        answered_by=st.none() | texts,
        hopped=st.sampled_from([None, *HOPPED.values()]),
        text=st.none() | texts,
    ),
    order=st.sampled_from(list(ORDERS)),
)


def read(address: str) -> Question:
    return read_question(parse_qsl(urlsplit(address).query), window="7d")


@given(questions)
def test_an_address_says_again_what_it_was_made_of(question: Question) -> None:
    assert read(question.to("/runs")) == question


@given(questions)
def test_each_label_can_be_left_out(question: Question) -> None:
    for name, value in question.chosen():
        left = read(question.without(name, value).to("/runs"))
        assert (name, value) not in list(left.chosen())
        assert len(list(left.chosen())) == len(list(question.chosen())) - 1


@given(
    st.lists(st.tuples(st.sampled_from(["status", "window", "from", "to", "order", "hopped", "kind"]) | texts, texts))
)
def test_any_address_is_read(query: list[tuple[str, str]]) -> None:
    question = read_question(query, window="7d")
    question.asked(NOW, UTC)
    assert read(question.to("/runs")).problems == ()


def test_what_cannot_be_is_named_and_left_out() -> None:
    question = read("/runs?status=done&window=fortnight&from=yesterday&order=size&hopped=maybe&kind=overflow")
    assert question == Question(Window("7d"), RunFilter(kind=("overflow",)), "", question.problems)
    said = " ".join(question.problems)
    assert all(word in said for word in ("done", "fortnight", "yesterday", "size", "maybe"))


@pytest.mark.parametrize(
    ("address", "since", "until"),
    [
        ("/?window=24h", NOW - 86_400, None),
        ("/?window=7d", 1_789_948_800.0 - 6 * 86_400, None),
        ("/?window=all", None, None),
        ("/?from=2026-09-21&to=2026-09-21", 1_789_948_800.0, 1_789_948_800.0 + 86_400),
        ("/?from=2026-09-22&to=2026-09-21", 1_789_948_800.0, 1_789_948_800.0 + 2 * 86_400),
        ("/?to=2026-09-20", None, 1_789_948_800.0),
    ],
)
def test_days_are_whole(address: str, since: float | None, until: float | None) -> None:
    asked = read(address).asked(NOW, UTC)
    assert (asked.since, asked.until) == (since, until)
