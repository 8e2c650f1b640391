"""Items: what an input makes of them, who gets them, and what they come to."""

from __future__ import annotations

import inspect
import math
from collections.abc import Generator
from contextlib import suppress

import pytest

from atomic.errors import PlaceError, UsageError
from atomic.failures import FailureKind
from atomic.verdict.facts import Status
from flows.database import Counts, Database, Edition, Ended, ItemRow, Loaded, editions, items, loading
from tests.flows.databases import came_to, rows, work_off


@pytest.fixture
def edition(database: Database) -> Edition:
    """An edition of this process."""
    return editions.begin(database, "nightly")


def resumed(database: Database, edition: Edition) -> Edition:
    """The same edition, ended and begun again."""
    editions.finish(database, edition)
    return editions.begin(database, "nightly", edition=edition.name)


def test_items_are_claimed_in_the_inputs_order_with_all_that_was_given(database: Database, edition: Edition) -> None:
    assert loading.load(database, edition, rows("b", "a", "c", source='{"prompt": "p"}')) == Loaded(new=3)
    first, second = items.claim(database, edition, 2)
    assert [(one.custom_id, one.position, one.claims) for one in (first, second)] == [("b", 0, 1), ("a", 1, 1)]
    assert first.source == '{"prompt": "p"}'
    assert first.key == f"batch/nightly/{edition.name}/b/d/0"
    assert [one.custom_id for one in items.claim(database, edition, 2)] == ["c"]
    assert items.claim(database, edition, 2) == []
    assert items.counts(database, edition.id) == Counts(running=3)


def test_loading_again_keeps_what_was_answered_and_runs_what_has_changed(database: Database, edition: Edition) -> None:
    loading.load(database, edition, rows("same", "changed", "failed", "gone", "gone answered"))
    work_off(database, edition, {"failed": FailureKind.OVERFLOW, "gone": FailureKind.CANCELLED})
    edition = resumed(database, edition)
    given = [*rows("new", "same", "failed"), *rows("changed", digest="another")]
    assert loading.load(database, edition, given) == Loaded(new=1, kept=2, changed=1, gone=2)
    assert items.counts(database, edition.id) == Counts(pending=2, answered=2, failed=1)
    assert work_off(database, edition) == ["new", "changed"]
    found = [(one.custom_id, one.status) for one in items.results(database, edition.id)]
    assert sorted(found) == [
        ("changed", "answered"),
        ("failed", "failed"),
        ("gone answered", "answered"),
        ("new", "answered"),
        ("same", "answered"),
    ]


def test_failed_ones_run_again_when_asked_with_the_same_key(database: Database, edition: Edition) -> None:
    loading.load(database, edition, rows("a", "b"))
    [a] = items.claim(database, edition, 1)
    items.end(database, edition, [came_to(a.id, FailureKind.CRASHED)])
    work_off(database, edition)
    edition = resumed(database, edition)
    assert loading.load(database, edition, rows("a", "b"), retry_failed=True) == Loaded(kept=1, again=1)
    [again] = items.claim(database, edition, 5)
    assert (again.custom_id, again.key, again.claims) == ("a", a.key, 2)


def test_a_redo_runs_all_that_ended_again_with_keys_of_their_own(database: Database, edition: Edition) -> None:
    loading.load(database, edition, rows("a", "b", "c"))
    before = items.claim(database, edition, 2)
    items.end(database, edition, [came_to(before[0].id), came_to(before[1].id, FailureKind.REFUSAL)])
    edition = resumed(database, edition)
    assert loading.load(database, edition, rows("a", "b", "c", source="new"), redo=True) == Loaded(kept=1, again=2)
    after = items.claim(database, edition, 5)
    assert [one.key.rpartition("/")[2] for one in after] == ["1", "1", "0"]
    assert {one.source for one in after} == {"new"}
    assert list(items.results(database, edition.id)) == []


def test_another_policy_of_an_item_that_is_still_to_do_counts(database: Database, edition: Edition) -> None:
    loading.load(database, edition, rows("a", "b", source="policy one"))
    [a] = items.claim(database, edition, 1)
    items.end(database, edition, [came_to(a.id)])
    edition = resumed(database, edition)
    assert loading.load(database, edition, rows("b", "a", source="policy two")) == Loaded(kept=2)
    [b] = items.claim(database, edition, 5)
    assert (b.custom_id, b.source, b.position) == ("b", "policy two", 0)


@pytest.mark.parametrize("apart", [1, 2500])
def test_an_id_that_comes_twice_is_refused(database: Database, edition: Edition, apart: int) -> None:
    names = ["twice", *(f"item-{n}" for n in range(apart)), "twice"]
    with pytest.raises(UsageError, match="'twice' twice"):
        loading.load(database, edition, rows(*names))


@pytest.mark.parametrize("name", ["nul\0", "half \ud83d"])
def test_an_id_that_cannot_be_stored_is_refused(database: Database, edition: Edition, name: str) -> None:
    with pytest.raises(UsageError, match="no database can store"):
        loading.load(database, edition, rows(name))


@pytest.mark.parametrize(
    "name", ["", "'; DROP TABLE items; --", "%(of)s :of ?", "\N{PILE OF POO} \u202e e\u0301", "x" * 2000]
)
def test_ids_and_texts_of_any_sort_come_back_as_they_were(database: Database, edition: Edition, name: str) -> None:
    loading.load(database, edition, rows(name, source=name))
    edition = resumed(database, edition)
    assert loading.load(database, edition, rows(name, source=name)) == Loaded(kept=1)
    [one] = items.claim(database, edition, 1)
    assert (one.custom_id, one.source) == (name, name)


def test_what_no_database_stores_in_an_answer_is_replaced(database: Database, edition: Edition) -> None:
    loading.load(database, edition, rows("a"))
    [one] = items.claim(database, edition, 1)
    items.end(
        database, edition, [Ended(one.id, Status.ANSWERED, None, "run", "NUL \0, half \ud83d, whole \N{PILE OF POO}")]
    )
    [result] = items.results(database, edition.id)
    assert result.result == "NUL \ufffd, half \ufffd, whole \N{PILE OF POO}"


@pytest.mark.parametrize("kind", [FailureKind.CANCELLED, FailureKind.BUDGET, FailureKind.INTERRUPTED])
def test_what_says_nothing_of_the_item_waits_for_the_next_begin(
    database: Database, edition: Edition, kind: FailureKind
) -> None:
    loading.load(database, edition, rows("a"))
    [one] = items.claim(database, edition, 1)
    assert items.end(database, edition, [came_to(one.id, kind)]) == {one.id}
    assert items.counts(database, edition.id) == Counts(pending=1)
    assert items.claim(database, edition, 1) == []
    assert list(items.results(database, edition.id)) == []
    assert editions.finish(database, edition) == "stopped"
    edition = editions.begin(database, "nightly")
    assert [again.key for again in items.claim(database, edition, 1)] == [one.key]


def test_a_released_item_is_free_at_once(database: Database, edition: Edition) -> None:
    loading.load(database, edition, rows("a"))
    [one] = items.claim(database, edition, 1)
    assert items.release(database, edition, [one.id]) == {one.id}
    assert items.release(database, edition, [one.id]) == set()
    assert [again.claims for again in items.claim(database, edition, 1)] == [2]


def test_a_parked_item_is_claimed_when_its_time_has_come(database: Database, edition: Edition) -> None:
    loading.load(database, edition, rows("a", "b", "c"))
    a, b, c = items.claim(database, edition, 3)
    for one, until in ((a, 300.0), (b, 200.0), (c, 400.0)):
        assert items.park(database, edition, one.id, until=until, kind=FailureKind.RATE_LIMIT, run_id="r")
    assert not items.park(database, edition, a.id, until=0, kind=None)
    assert items.counts(database, edition.id) == Counts(parked=3)
    assert items.next_due(database, edition) == 200
    assert items.claim(database, edition, 3, now=199) == []
    assert [one.custom_id for one in items.claim(database, edition, 3, now=300)] == ["b", "a"]
    assert items.next_due(database, edition) == 400


def test_parked_items_outlast_their_owner_and_may_be_given_up(database: Database, edition: Edition) -> None:
    loading.load(database, edition, rows("a", "b"))
    a, _ = items.claim(database, edition, 2)
    items.park(database, edition, a.id, until=math.inf, kind=FailureKind.QUOTA)
    assert editions.finish(database, edition) == "stopped"
    edition = editions.begin(database, "nightly")
    loading.load(database, edition, rows("a", "b"))
    assert items.counts(database, edition.id) == Counts(pending=1, parked=1)
    [given_up] = items.claim_parked(database, edition, 5)
    assert given_up.custom_id == "a"
    items.end(database, edition, [came_to(given_up.id, FailureKind.QUOTA)])
    assert items.counts(database, edition.id) == Counts(pending=1, failed=1)
    assert items.next_due(database, edition) is None


def test_an_item_ends_once(database: Database, edition: Edition) -> None:
    loading.load(database, edition, rows("a", "b"))
    a, b = items.claim(database, edition, 2)
    assert items.end(database, edition, [came_to(a.id, answer="first")]) == {a.id}
    assert items.end(database, edition, [came_to(b.id), came_to(a.id, answer="second")]) == {b.id}
    assert ["first" in one.result for one in items.results(database, edition.id)] == [True, False]


def test_results_come_in_the_inputs_order_whatever_order_they_ended_in(database: Database, edition: Edition) -> None:
    names = [f"item-{n}" for n in range(2100)]
    loading.load(database, edition, rows(*names))
    claimed = [one for _ in range(3) for one in items.claim(database, edition, 1000)]
    failed = {one.id for one in claimed[::7]}
    ended = [came_to(one.id, FailureKind.EMPTY if one.id in failed else None) for one in claimed]
    assert items.end(database, edition, ended[::-1]) == {one.id for one in claimed}
    found = list(items.results(database, edition.id))
    assert [one.custom_id for one in found] == names
    assert [one.position for one in found] == list(range(2100))
    assert sum(one.status is Status.FAILED and one.kind is FailureKind.EMPTY for one in found) == len(failed)


def test_failures_are_counted_by_kind(database: Database, edition: Edition) -> None:
    loading.load(database, edition, rows(*"abcd"))
    kinds = {"a": FailureKind.QUOTA, "b": FailureKind.AUTH, "c": FailureKind.QUOTA}
    work_off(database, edition, kinds)
    assert list(items.kinds(database, edition.id).items()) == [(FailureKind.QUOTA, 2), (FailureKind.AUTH, 1)]


def test_two_batches_have_nothing_to_do_with_each_other(database: Database, edition: Edition) -> None:
    other = editions.begin(database, "other")
    loading.load(database, edition, rows("a"))
    loading.load(database, other, rows("a", digest="o"))
    [one] = items.claim(database, other, 5)
    assert one.digest == "o"
    assert items.end(database, edition, [came_to(one.id)]) == set()
    assert items.counts(database, edition.id) == Counts(pending=1)


def test_what_was_loaded_whole_from_the_same_is_not_read_again(database: Database, edition: Edition) -> None:
    def half() -> Generator[ItemRow, None, None]:
        yield from rows("a")
        raise PlaceError("the disk has gone")

    def read_again(fingerprint: str, *, redo: bool = False, retry_failed: bool = False) -> bool:
        rest = half()
        with suppress(PlaceError):
            loading.load(database, edition, rest, fingerprint=fingerprint, redo=redo, retry_failed=retry_failed)
        return inspect.getgeneratorstate(rest) != inspect.GEN_CREATED

    assert read_again("f")
    loading.load(database, edition, rows("a", "b"), fingerprint="f")
    assert not read_again("f")
    assert loading.load(database, edition, half(), fingerprint="f") == Loaded(kept=2)
    assert read_again("g"), "another input, and not to its end"
    assert read_again("f")
    for asked in ({"redo": True}, {"retry_failed": True}):
        loading.load(database, edition, rows("a", "b"), fingerprint="f")
        assert read_again("f", **asked)
    loading.load(database, edition, rows("a", "b"))
    assert read_again(""), "nobody knows of what it is made"
    work_off(database, edition)
    assert loading.load(database, edition, rows("a"), fingerprint="h") == Loaded(kept=1, gone=1)
    assert read_again("h"), "so that it is said again what has gone"
