"""The history follows the records: caught up, rebuilt, pruned, exported; an older database is brought up to date."""

from __future__ import annotations

import contextlib
import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import select, text

from atomic.errors import RunNotFound, UsageError
from atomic.failures import FailureKind
from atomic.record import AttemptRecord, AttemptSummary, RunRecord, RunStore
from atomic.runner.results import result_of
from atomic.text import Masker
from atomic.verdict.facts import Status, Usage, Verdict
from flows import history
from flows.batch.results import result_line
from flows.database import Database, Ended, ItemRow, control, editions, items, loading
from flows.database.items import run_key
from flows.database.tables import attempts as a
from flows.database.tables import editions as e
from flows.database.tables import items as i
from flows.database.tables import labels, run_labels
from flows.database.tables import runs as r
from flows.history import RunFilter
from flows.history.catching_up import CaughtUp, catch_up
from flows.history.exporting import csv_lines, json_lines
from flows.history.pruning import doomed, prune
from flows.history.rebuilding import rebuild
from tests.flows.databases import Where, database, where  # noqa: F401 - fixtures

MASKER = Masker()
ALL = RunFilter()


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "records", home=tmp_path / "a home", fsync=False)


def made(store: RunStore, *, ended: bool = True, kind: FailureKind | None = None, **fields: Any) -> str:
    """A run in the records."""
    folder = store.create(b"Sweep the yard", **fields)
    attempt = folder.attempt(1)
    attempt.create(b"Sweep the yard")
    begun = AttemptRecord(run_id=folder.run_id, n=1, model="p/one:high", started_at=1.0, record="attempt-1")
    usage = Usage(input=10, output=2, cost_usd=0.5)
    status = Status.FAILED if kind else Status.ANSWERED
    verdict = Verdict(status=status, kind=kind, answered_by=None if kind else "p/one", usage=usage, cost_usd=0.5)
    if not ended:
        attempt.write(begun)
        folder.write(folder.read().model_copy(update={"attempts": (AttemptSummary.of(begun),)}))
        return folder.run_id
    done = begun.concluded(verdict, ended_at=3.0)
    attempt.write(done)
    run = folder.read()
    told = {
        "status": status.value,
        "kind": kind,
        "answer": None if kind else "swept",
        "answered_by": verdict.answered_by,
    }
    whole = {"attempts": (AttemptSummary.of(done),), "usage": usage, "cost_usd": 0.5, "ended_at": run.created_at + 2}
    folder.finish(run.model_copy(update={**told, **whole}))
    return folder.run_id


def end(store: RunStore, run_id: str) -> None:
    folder = store.open(run_id)
    run = folder.read()
    folder.finish(run.model_copy(update={"status": "answered", "answered_by": "p/one", "ended_at": run.created_at + 9}))


def listed(database: Database, asked: RunFilter = ALL) -> list[str]:  # noqa: F811
    return [row.run_id for row in history.runs_page(database, asked, limit=100).rows]


def test_catching_up_reads_what_is_new_and_what_had_not_ended(
    database: Database,  # noqa: F811
    store: RunStore,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ids = [made(store), made(store, ended=False), made(store, kind=FailureKind.QUOTA)]
    assert catch_up(database, store, MASKER) == CaughtUp(found=3)
    assert listed(database) == sorted(ids, reverse=True)
    assert listed(database, RunFilter(status=("running",))) == [ids[1]]
    assert history.run_row(database, ids[0]).prompt == "Sweep the yard"
    end(store, ids[1])
    new = made(store)
    read: list[str] = []
    whole = store.read

    def noted(run_id: str) -> RunRecord:
        read.append(run_id)
        return whole(run_id)

    monkeypatch.setattr(store, "read", noted)
    assert catch_up(database, store, MASKER) == CaughtUp(found=1, ended=1)
    assert sorted(read) == [ids[1], new]  # what it had is not read again
    assert listed(database, RunFilter(status=("running",))) == []
    assert catch_up(database, store, MASKER) == CaughtUp()


def test_a_run_whose_record_has_gone_does_not_run_for_ever(database: Database, store: RunStore) -> None:  # noqa: F811
    lost = made(store, ended=False)
    catch_up(database, store, MASKER)
    store.remove(lost)
    assert catch_up(database, store, MASKER) == CaughtUp(gone=1)
    assert listed(database) == []


def dump(database: Database) -> dict[str, list[Any]]:  # noqa: F811
    """What the tables say of runs, and of items what runs can say."""
    labelled = select(labels.c.what, labels.c.value, run_labels.c.run_id).join(
        labels, labels.c.id == run_labels.c.label_id
    )
    known = select(e.c.name, i.c.custom_id, i.c.digest, i.c.round, i.c.state, i.c.run_id, i.c.kind, i.c.result)
    queries = {
        "runs": select(r).order_by(r.c.run_id),
        "attempts": select(a).order_by(a.c.run_id, a.c.n),
        "labels": labelled,
        "items": known.join(e, e.c.id == i.c.edition_id).where(i.c.run_id.is_not(None)),
    }
    with database.reading() as connection:
        return {name: sorted(tuple(map(repr, row)) for row in connection.execute(q)) for name, q in queries.items()}


def night(database: Database, store: RunStore, n: int) -> None:  # noqa: F811
    """A batch of so many items, and one more that did not run."""
    edition = editions.begin(database, "nightly", edition="monday")
    loading.load(database, edition, [ItemRow(f"item-{at}", f"d{at}", "{}") for at in range(n + 1)])
    for item in items.claim(database, edition, n):
        kind = FailureKind.OVERFLOW if item.position % 5 == 0 else None
        key = run_key("nightly", "monday", item.custom_id, item.digest, 0)
        run_id = made(store, kind=kind, key=key, batch="nightly", edition="monday", custom_id=item.custom_id)
        run = store.read(run_id)
        line = result_line(item.custom_id, result_of(run, (), str(store.open(run_id).path)))
        status = Status.FAILED if kind else Status.ANSWERED
        items.end(database, edition, [Ended(item.id, status, kind, run_id, line)])
    editions.finish(database, edition, reason="stopped")


@pytest.mark.parametrize("harm", ["none", "deleted", "damaged"])
def test_a_rebuilt_history_is_the_same(where: Where, store: RunStore, harm: str) -> None:  # noqa: F811
    before = where.open()
    night(before, store, 24)
    for _ in range(26):
        made(store, name="single", tags=("t",))
    catch_up(before, store, MASKER)
    right = dump(before)
    before.close()
    where.opened.clear()
    file = where.home / "history.db"
    if harm == "none":
        pass
    elif not file.exists():  # a server's tables
        server = where.open()
        with server.writing() as connection:
            for table in (i, e, r) if harm == "deleted" else (r,):
                connection.execute(table.delete())
        server.close()
        where.opened.clear()
    elif harm == "deleted":
        file.unlink()
    else:
        file.write_bytes(b"no database at all, but long enough to be looked at" * 100)
    assert rebuild(where.url, where.home, store, MASKER) == 50
    after = where.open()
    assert dump(after) == right
    assert catch_up(after, store, MASKER).ended == 0
    if harm != "none":
        return
    assert items.counts(after, 1).pending == 1  # what only the database knew was kept


def test_a_history_that_was_rebuilt_is_seen_by_who_had_it_open(tmp_path: Path, store: RunStore) -> None:
    open_ = Database.open(home=tmp_path, moving=True)
    catch_up(open_, store, MASKER)
    ids = [made(store), made(store)]
    assert rebuild(None, tmp_path, store, MASKER) == 2
    assert listed(open_) == sorted(ids, reverse=True)
    ids.append(made(store))
    assert catch_up(open_, store, MASKER).found == 1  # and what it writes is found by others
    with contextlib.closing(Database.open(home=tmp_path)) as other:
        assert listed(other) == sorted(ids, reverse=True)
    (tmp_path / "history.db").unlink()
    assert listed(open_) == sorted(ids, reverse=True)
    open_.close()


def test_no_history_is_rebuilt_under_a_batch_at_work(where: Where, store: RunStore) -> None:  # noqa: F811
    where.hold()
    with pytest.raises(UsageError, match="nightly is being carried out"):
        rebuild(where.url, where.home, store, MASKER)


def test_pruned_runs_are_gone_with_their_rows_and_keys(database: Database, store: RunStore) -> None:  # noqa: F811
    store.claim("k")
    old = [made(store, key="k"), made(store, name="other")]
    busy = made(store, ended=False)
    catch_up(database, store, MASKER)
    found = doomed(database, store, ALL)
    assert sorted(found.ids) == sorted(old)
    assert found.running == 1
    assert found.bytes > 0
    assert doomed(database, store, RunFilter(name="other")).ids == (old[1],)
    assert list(prune(database, store, found.ids)) == [2]
    assert listed(database) == [busy]
    assert list(store.ids()) == [busy]
    assert store.claim("k").answered is None


def test_a_prune_that_is_killed_is_finished_by_the_next_look(
    database: Database,  # noqa: F811
    store: RunStore,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ids = [made(store) for _ in range(4)]
    catch_up(database, store, MASKER)
    removing = store.remove

    def killed(run_id: str) -> None:
        if run_id == ids[2]:
            raise KeyboardInterrupt
        removing(run_id)

    monkeypatch.setattr(store, "remove", killed)
    with pytest.raises(KeyboardInterrupt):
        list(prune(database, store, ids))
    assert len(listed(database)) == 4
    monkeypatch.undo()
    assert catch_up(database, store, MASKER).gone == 4
    assert listed(database) == []
    assert list(store.ids()) == []
    with pytest.raises(RunNotFound):
        store.read(ids[0])


def test_runs_of_a_batch_at_work_are_not_pruned(where: Where, store: RunStore) -> None:  # noqa: F811
    where.hold()
    database = where.open()  # noqa: F811
    state = control.running(database, "nightly")
    assert state is not None
    made(store, batch="nightly", edition=state.name)
    old = made(store, batch="nightly", edition="the last one")
    catch_up(database, store, MASKER)
    found = doomed(database, store, ALL)
    assert (found.ids, found.running) == ((old,), 1)


def test_nobody_finishes_a_prune_that_is_at_work(
    database: Database,  # noqa: F811
    store: RunStore,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ids = [made(store) for _ in range(3)]
    catch_up(database, store, MASKER)
    removing, looks = store.remove, []

    def looked_at(run_id: str) -> None:
        looks.append(catch_up(database, store, MASKER))
        removing(run_id)

    monkeypatch.setattr(store, "remove", looked_at)
    assert list(prune(database, store, ids)) == [3]
    assert [look.gone for look in looks] == [0, 0, 0]
    assert listed(database) == []


def test_no_cell_is_a_formula_and_no_line_lacks_a_run(database: Database, store: RunStore) -> None:  # noqa: F811
    names = ["=cmd|' /C calc'!A0", "+1", "-1", "@sum", "\tx", 'plain, with "quotes"\nand lines']
    for name in names:
        made(store, name=name, tags=("=t",))
    catch_up(database, store, MASKER)
    rows = list(csv.DictReader(io.StringIO(b"".join(csv_lines(database, ALL, MASKER)).decode(), newline="")))
    assert {row["name"] for row in rows} == {f"'{name}" for name in names[:-1]} | {names[-1]}
    assert {row["tags"] for row in rows} == {"'=t"}
    lines = [json.loads(line) for line in json_lines(database, RunFilter(name="=*"), MASKER)]
    assert [(line["name"], line["attempts"][0]["model"]) for line in lines] == [(names[0], "p/one:high")]


def older(where: Where) -> Iterator[str]:  # noqa: F811
    """The statements that make a database as the first version left it, with a run in it."""
    yield (
        "INSERT INTO runs (run_id, status, message, first_model, answered_by, policy_digest, attempts, created_at, "
        "ended_at, input, output, cache_read, cache_write, tags, metadata, warnings, cwd, record) VALUES "
        "('20260101-000000-22222222', 'answered', '', 'p/one:high', 'q/two', '', 2, 1767225600, 1767225660, "
        "1, 1, 0, 0, '[\"red\"]', '{}', '[]', '', '')"
    )
    for n, model, status, kind in ((1, "p/one:high", "failed", "'quota'"), (2, "q/two", "answered", "NULL")):
        yield (
            "INSERT INTO attempts (run_id, n, model, status, kind, message, carry, record, started_at, ended_at, "
            "turns, tool_calls, failed_tool_calls, retries, compactions, input, output, cache_read, cache_write) "
            f"VALUES ('20260101-000000-22222222', {n}, '{model}', '{status}', {kind}, '', false, '', 1767225600, "
            "1767225630, 1, 0, 0, 0, 0, 1, 1, 0, 0)"
        )


def test_an_older_database_is_brought_up_to_date_with_what_it_has(where: Where) -> None:  # noqa: F811
    database = where.open()  # noqa: F811
    with database.writing() as connection:
        for table in reversed(r.metadata.sorted_tables):
            table.drop(connection)
        connection.execute(text("DELETE FROM atomic_flows_version"))
        config = Config(attributes={"connection": connection})
        config.set_main_option("script_location", "flows.database:migrations")
        command.upgrade(config, "0001")
        for statement in older(where):
            connection.execute(text(statement.replace(":", "\\:")))
    database.close()
    where.opened.clear()
    newer = where.open()
    asked = RunFilter(hopped=True, kind=("quota",), model=("p/one",), tag=("red",), provider=("q",))
    (row,) = history.runs_page(newer, asked, limit=5).rows
    assert (row.last_model, row.seconds) == ("q/two", 60)
    assert history.overview(newer, ALL).p50 == pytest.approx(60, rel=0.05)
    (hop,) = history.hops(newer, ALL)
    assert (hop.source, hop.target, hop.kind) == ("p/one", "q/two", "quota")
