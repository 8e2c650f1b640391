"""Editions: one owner at a time, the dead taken over, the living left alone."""

from __future__ import annotations

import pytest

from atomic.errors import BatchNotFound, EditionBusy, EditionLost, UsageError
from atomic.record.owner import this_process
from flows.database import HEARTBEAT_LIMIT, Counts, Database, control, editions, items, loading, shards
from tests.flows.databases import Where, let_be_silent, rows, work_off

ELSEWHERE = this_process().model_copy(update={"host": "another-machine", "boot_id": "another boot"})
CHRISTMAS = 1_766_620_800.0  # 2025-12-25 00:00:00 UTC


def test_a_first_edition_is_named_by_its_time(database: Database) -> None:
    edition = editions.begin(database, "nightly", now=CHRISTMAS)
    assert (edition.batch, edition.name) == ("nightly", "20251225-000000")
    assert not edition.resumed
    assert edition.counts == Counts()


def test_the_same_command_goes_on_with_the_newest_unfinished_one(database: Database) -> None:
    first = editions.begin(database, "nightly")
    loading.load(database, first, rows("a", "b"))
    assert editions.finish(database, first, reason="stopped by you") == "stopped"
    second = editions.begin(database, "nightly", new=True)
    loading.load(database, second, rows("a"))
    work_off(database, second)
    assert editions.finish(database, second) == "finished"

    again = editions.begin(database, "nightly")
    assert (again.name, again.resumed, again.taken_from) == (first.name, True, None)
    assert again.counts == Counts(pending=2)
    work_off(database, again)
    assert editions.finish(database, again) == "finished"
    assert editions.begin(database, "nightly").name == second.name


def test_new_ones_of_one_second_have_names_of_their_own(database: Database) -> None:
    names = []
    for _ in range(3):
        edition = editions.begin(database, "nightly", new=True, now=CHRISTMAS)
        names.append(edition.name)
        editions.finish(database, edition)
    assert names == ["20251225-000000", "20251225-000000-2", "20251225-000000-3"]


def test_an_edition_may_be_named(database: Database) -> None:
    first = editions.begin(database, "nightly", edition="2026-01-01T02:00+01:00")
    editions.finish(database, first)
    again = editions.begin(database, "nightly", edition=first.name)
    assert (again.id, again.resumed) == (first.id, True)
    editions.finish(database, again)
    with pytest.raises(UsageError, match="already"):
        editions.begin(database, "nightly", edition=first.name, new=True)


def test_a_living_owner_is_left_alone(where: Where) -> None:
    holder, database = where.hold(), where.open()
    for new in (False, True):
        with pytest.raises(EditionBusy, match=f"process {holder.pid} of .* carries out edition .* since") as raised:
            editions.begin(database, "nightly", new=new)
    assert raised.value.batch == "nightly"
    assert f"process {holder.pid}" in raised.value.owner
    assert "atomic-flows stop nightly" in str(raised.value.hint)
    assert editions.begin(database, "another").batch == "another"


def test_a_killed_owner_is_taken_over_at_once(where: Where) -> None:
    holder, database = where.hold(), where.open()
    before = control.running(database, "nightly")
    assert before is not None
    assert before.counts == Counts(pending=3, running=2)
    holder.kill()
    holder.wait()
    assert control.running(database, "nightly") is None
    edition = editions.begin(database, "nightly")
    assert edition.resumed
    assert edition.taken_from is not None
    assert edition.taken_from.pid == holder.pid
    assert edition.counts == Counts(pending=5)
    loading.load(database, edition, rows(*(f"item-{n}" for n in range(5))))
    assert work_off(database, edition) == [f"item-{n}" for n in range(5)]


def test_a_new_edition_closes_the_one_that_a_killed_owner_left(where: Where) -> None:
    holder, database = where.hold(), where.open()
    holder.kill()
    holder.wait()
    edition = editions.begin(database, "nightly", edition="the next night", new=True)
    assert not edition.resumed
    newest, left = control.editions_of(database, "nightly")
    assert (newest.name, newest.status, newest.alive) == ("the next night", "running", True)
    assert (left.status, left.reason, left.alive) == ("stopped", editions.DIED, False)
    assert left.counts == Counts(pending=5)


def test_an_owner_elsewhere_lives_as_long_as_its_heart_beats(database: Database) -> None:
    theirs = editions.begin(database, "nightly", owner=ELSEWHERE)
    let_be_silent(database, theirs.id, HEARTBEAT_LIMIT / 2)
    with pytest.raises(EditionBusy, match="another-machine"):
        editions.begin(database, "nightly")
    editions.heartbeat(database, theirs)
    let_be_silent(database, theirs.id, HEARTBEAT_LIMIT * 2)
    assert editions.begin(database, "nightly").taken_from == ELSEWHERE


def test_a_clock_that_was_set_back_keeps_no_dead_owner_alive(database: Database) -> None:
    theirs = editions.begin(database, "nightly", owner=ELSEWHERE)
    let_be_silent(database, theirs.id, -24 * 3600)
    assert editions.begin(database, "nightly").taken_from == ELSEWHERE


def test_another_container_of_the_same_name_is_judged_by_its_heartbeat(database: Database) -> None:
    theirs = editions.begin(database, "nightly", owner=ELSEWHERE.model_copy(update={"host": this_process().host}))
    with pytest.raises(EditionBusy):
        editions.begin(database, "nightly")
    let_be_silent(database, theirs.id, HEARTBEAT_LIMIT * 2)
    assert editions.begin(database, "nightly").resumed


def test_a_silent_process_of_this_machine_is_not_dead(where: Where) -> None:
    where.hold()
    database = where.open()
    state = control.running(database, "nightly")
    assert state is not None
    let_be_silent(database, state.id, HEARTBEAT_LIMIT * 100)
    with pytest.raises(EditionBusy):
        editions.begin(database, "nightly")


def test_whoever_was_taken_for_dead_spoils_nothing_when_it_comes_back(database: Database) -> None:
    theirs = editions.begin(database, "nightly", owner=ELSEWHERE)
    loading.load(database, theirs, rows("a", "b"))
    [a] = items.claim(database, theirs, 1)
    let_be_silent(database, theirs.id, HEARTBEAT_LIMIT * 2)
    ours = editions.begin(database, "nightly")
    [mine] = items.claim(database, ours, 1)
    assert mine.id == a.id
    for call in (
        lambda: editions.heartbeat(database, theirs),
        lambda: editions.finish(database, theirs),
        lambda: loading.load(database, theirs, rows("c")),
        lambda: items.claim(database, theirs, 1),
        lambda: items.release(database, theirs, [a.id]),
        lambda: shards.open_one(database, theirs, 1, most=1, form=""),
        lambda: shards.reap(database, theirs, 1),
        lambda: items.park(database, theirs, a.id, until=0, kind=None),
        lambda: items.end(database, theirs, []),
    ):
        with pytest.raises(EditionLost, match="taken over"):
            call()
    assert items.counts(database, ours.id) == Counts(pending=1, running=1)


def test_an_edition_that_was_finished_is_nobodys(database: Database) -> None:
    edition = editions.begin(database, "nightly")
    editions.finish(database, edition)
    with pytest.raises(EditionLost):
        editions.heartbeat(database, edition)
    [state] = control.editions_of(database, "nightly")
    assert (state.status, state.owner, state.alive) == ("finished", None, False)
    assert state.ended_at is not None


def test_what_others_ask_is_heard_with_the_next_heartbeat(where: Where) -> None:
    database, terminal = where.open(), where.open()
    edition = editions.begin(database, "nightly", input="in.jsonl", output="out")
    assert editions.heartbeat(database, edition) == "run"
    for asked in ("pause", "run", "drain", "stop"):
        state = control.set_control(terminal, "nightly", asked)
        assert state.control == asked
        assert state.control_by is not None
        assert editions.heartbeat(database, edition) == asked
    editions.finish(database, edition)
    assert editions.heartbeat(database, editions.begin(database, "nightly")) == "run"
    [state] = control.editions_of(terminal, "nightly")
    assert (state.input, state.output) == ("", "")


def test_asking_where_nobody_listens(where: Where) -> None:
    database = where.open()
    with pytest.raises(BatchNotFound, match="no batch 'nightly'"):
        control.set_control(database, "nightly", "stop")
    editions.finish(database, editions.begin(database, "nightly"))
    with pytest.raises(BatchNotFound, match="nightly is not running"):
        control.set_control(database, "nightly", "stop")
    with pytest.raises(BatchNotFound) as raised:
        control.editions_of(database, "nihgtly")
    assert raised.value.nearest == "nightly"


def test_batches_are_listed_by_their_newest_edition(database: Database) -> None:
    for name in ("b", "a", "c", "b"):
        editions.finish(database, editions.begin(database, name, new=True))
    assert control.batch_names(database) == ["b", "c", "a"]
