"""Shards of a pool: one worker for each, and nothing is written for one that has ended."""

from __future__ import annotations

import pytest

from atomic.errors import EditionLost, UsageError
from atomic.failures import FailureKind
from flows.database import HEARTBEAT_LIMIT, Counts, Database, Edition, control, editions, items, loading, shards
from flows.database.facts import Waiting
from tests.flows.databases import came_to, let_be_silent, rows
from tests.flows.test_database_editions import ELSEWHERE


@pytest.fixture
def edition(database: Database) -> Edition:
    """An edition of this process, with six items."""
    edition = editions.begin(database, "nightly")
    loading.load(database, edition, rows(*"abcdef"))
    return edition


def taken(database: Database, edition: Edition, number: int, *, most: int = 3) -> Edition:
    """A shard that was opened, and that a worker has taken up."""
    shards.open_one(database, edition, number, most=most, form=f"form {number}")
    ours, may, form = shards.take(database, edition.batch, edition.name, term=edition.term, number=number)
    assert (may, form) == (most, f"form {number}")
    return ours


def test_a_shard_is_one_workers(database: Database, edition: Edition) -> None:
    taken(database, edition, 1)
    with pytest.raises(EditionLost, match="another process's already"):
        shards.take(database, "nightly", edition.name, term=edition.term, number=1)
    with pytest.raises(EditionLost):
        shards.take(database, "nightly", edition.name, term=edition.term + 1, number=1)
    with pytest.raises(UsageError, match="has no edition another"):
        shards.take(database, "nightly", "another", term=edition.term, number=1)


def test_who_opened_it_sees_what_it_has_taken_and_how_it_ended(database: Database, edition: Edition) -> None:
    shards.open_one(database, edition, 1, most=3, form="")
    [before] = shards.opened(database, edition, [1]).values()
    assert (before.owner, before.room, before.ended) == (None, 3, False)
    assert shards.withdraw(database, edition, 1)
    with pytest.raises(EditionLost):
        shards.take(database, "nightly", edition.name, term=edition.term, number=1)
    one = taken(database, edition, 2)
    items.claim(database, one, 2)
    shards.heartbeat(database, one)
    assert not shards.withdraw(database, edition, 2)
    assert shards.opened(database, edition, [2])[2].room == 1
    shards.end(database, one, reason="no agent")
    after = shards.opened(database, edition, [2])[2]
    assert (after.ended, after.reason) == (True, "no agent")


def test_what_a_dead_one_had_is_anybodys_and_nothing_is_written_for_it(database: Database, edition: Edition) -> None:
    one, other = taken(database, edition, 1), taken(database, edition, 2)
    a, b, c = items.claim(database, one, 3)
    [d] = items.claim(database, other, 1)
    items.end(database, one, [came_to(a.id)])
    items.park(database, one, b.id, until=0, kind=FailureKind.RATE_LIMIT)
    assert shards.reap(database, edition, 1) == 1
    for call in (
        lambda: shards.heartbeat(database, one),
        lambda: items.end(database, one, [came_to(c.id)]),
        lambda: items.claim(database, one, 1),
        lambda: items.release(database, one, [c.id]),
        lambda: items.park(database, one, c.id, until=0, kind=None),
    ):
        with pytest.raises(EditionLost):
            call()
    assert [again.custom_id for again in items.claim(database, other, 2)] == ["b", "c"]
    assert items.end(database, other, [came_to(d.id)]) == {d.id}


def test_what_was_cancelled_in_one_is_done_in_another_where_that_is_asked(database: Database, edition: Edition) -> None:
    one = taken(database, edition, 1, most=6)
    claimed = items.claim(database, one, 6)
    items.end(database, one, [came_to(item.id, FailureKind.CANCELLED) for item in claimed])
    shards.reap(database, edition, 1)
    assert shards.waiting(database, edition, 10).now == 0
    shards.reap(database, edition, 1, again=True)
    assert shards.waiting(database, edition, 10).now == 6


def test_a_run_that_waits_in_one_is_not_given_to_another(database: Database, edition: Edition) -> None:
    one, other = taken(database, edition, 1), taken(database, edition, 2, most=9)
    [a] = items.claim(database, one, 1)
    items.park(database, one, a.id, until=100, kind=FailureKind.RATE_LIMIT)
    assert items.next_due(database, one) == 100
    assert items.next_due(database, other) is None
    assert shards.waiting(database, edition, 10, now=50) == Waiting(5, None)
    assert [item.custom_id for item in items.claim(database, other, 9, now=200)] == [*"bcdef"]
    assert [item.custom_id for item in items.claim(database, one, 9, now=200)] == ["a"]


def test_it_hears_what_is_asked_of_the_batch_and_that_its_owner_died(database: Database) -> None:
    theirs = editions.begin(database, "nightly", owner=ELSEWHERE)
    one = taken(database, theirs, 1)
    control.set_control(database, "nightly", "pause")
    assert shards.heartbeat(database, one) == "pause"
    editions.ask_shards(database, theirs, "drain")
    assert shards.heartbeat(database, one) == "drain"
    let_be_silent(database, theirs.id, HEARTBEAT_LIMIT * 2)
    with pytest.raises(EditionLost, match="has died"):
        shards.heartbeat(database, one)


def test_the_next_owner_knows_of_those_that_are_still_at_work(database: Database) -> None:
    theirs = editions.begin(database, "nightly", owner=ELSEWHERE)
    loading.load(database, theirs, rows("a"))
    one = taken(database, theirs, 1)
    shards.open_one(database, theirs, 2, most=1, form="")
    items.claim(database, one, 1)
    let_be_silent(database, theirs.id, HEARTBEAT_LIMIT * 2)
    ours = editions.begin(database, "nightly")
    assert shards.of_earlier_terms(database, ours) == 1
    with pytest.raises(EditionLost):
        shards.heartbeat(database, one)
    shards.end(database, one)  # as its process does, whatever it was told
    assert shards.of_earlier_terms(database, ours) == 0
    assert items.counts(database, ours.id) == Counts(pending=1)


def test_items_that_ended_are_found_once(database: Database, edition: Edition) -> None:
    a, b, c, d, *_ = items.claim(database, edition, 6)
    items.end(database, edition, [came_to(a.id), came_to(c.id, FailureKind.EMPTY)])
    first, found = items.ended_from(database, edition.id, 0, ())
    assert (first, [(one.custom_id, one.status) for one in found]) == (1, [("a", "answered"), ("c", "failed")])
    items.end(database, edition, [came_to(d.id), came_to(b.id)], now=2e9)
    first, found = items.ended_from(database, edition.id, 1, {"c"})
    assert (first, [one.custom_id for one in found]) == (4, ["b", "d"])
