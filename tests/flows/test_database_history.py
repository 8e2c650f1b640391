"""Cooldowns, and the runs and attempts that the history is made of."""

from __future__ import annotations

from sqlalchemy import select

from atomic.failures import FailureKind
from atomic.policy import Limits
from atomic.record import AttemptRecord, RunRecord
from atomic.record.owner import this_process
from atomic.verdict.facts import Status, Usage, Verdict
from flows.database import Cooldown, Database, Spent, cooldowns, editions, runs
from flows.database.tables import attempts as a
from flows.database.tables import runs as r

RUN = RunRecord(
    run_id="20260101-000000-22222222",
    name="nul \0",
    key="k",
    batch="nightly",
    edition="e",
    custom_id="a",
    status="running",
    tags=("t", "half \ud83d"),
    metadata={"n": 10**30, "nan": float("nan")},
    usage=Usage(input=10, output=5, cacheRead=3, cacheWrite=2, cost_usd=0.5),
    cost_usd=0.5,
    owner=this_process(),
    created_at=100.0,
)


def attempt(n: int, verdict: Verdict | None, model: str | None = "p/m") -> AttemptRecord:
    record = AttemptRecord(run_id=RUN.run_id, n=n, model=model, record=f"attempt-{n}", started_at=100, limits=Limits())
    return record if verdict is None else record.concluded(verdict, ended_at=101)


FAILED = Verdict(status=Status.FAILED, kind=FailureKind.RATE_LIMIT, message="429 \0", retry_at=160, turns=2)


def test_of_two_cooldowns_of_a_key_the_later_end_counts(database: Database) -> None:
    cooldowns.put(database, [Cooldown("model/a", 200, FailureKind.RATE_LIMIT, "429"), Cooldown("credential/p", 300)])
    cooldowns.put(database, [Cooldown("model/a", 150, FailureKind.NETWORK, "reset")])
    cooldowns.put(database, [])
    assert cooldowns.get_many(database, ["model/a", "credential/p", "model/b"]) == {"model/a": 200, "credential/p": 300}
    first, _ = cooldowns.current(database, now=100)
    assert first == Cooldown("model/a", 200, FailureKind.RATE_LIMIT, "429")
    cooldowns.put(database, [Cooldown("model/a", 400, FailureKind.NETWORK, "reset")])
    assert [one.key for one in cooldowns.current(database, now=350)] == ["model/a"]
    assert cooldowns.current(database, now=400) == []


def test_a_cooldown_that_is_over_before_its_time_is_ended(database: Database) -> None:
    cooldowns.put(database, [Cooldown("model/a", 200), Cooldown("model/b", 200)])
    cooldowns.clear(database, ["model/a", "model/c"])
    assert cooldowns.get_many(database, ["model/a", "model/b"]) == {"model/b": 200}


def test_a_run_is_written_over_what_was_written_before(database: Database) -> None:
    runs.record_run(database, RUN, [attempt(1, None)], record="/records/run")
    ended = RUN.model_copy(update={"status": "answered", "answered_by": "p/n", "ended_at": 110.0})
    whole = [attempt(1, FAILED), attempt(2, Verdict(status=Status.ANSWERED, answered_by="p/n"), "p/n")]
    for _ in range(2):
        runs.record_run(database, ended, whole, record="/records/run")
    with database.reading() as connection:
        row = connection.execute(select(r)).one()
        steps = connection.execute(select(a).order_by(a.c.n)).all()
    assert (row.status, row.answered_by, row.first_model, row.attempts) == ("answered", "p/n", "p/m", 2)
    assert (row.input, row.output, row.cache_read, row.cache_write, row.cost_usd) == (10, 5, 3, 2, 0.5)
    assert (row.host, row.user) == (this_process().host, this_process().user)
    assert [(one.n, one.status, one.kind, one.retry_at, one.turns) for one in steps] == [
        (1, "failed", "rate_limit", 160, 2),
        (2, "answered", None, None, 0),
    ]
    assert steps[0].cost_usd is None


def test_what_an_edition_spent_counts_every_run_once_and_knows_what_it_does_not_know(database: Database) -> None:
    edition = editions.begin(database, "nightly", edition="e")
    assert runs.spent(database, edition.batch, edition.name) == Spent(tokens=0, cost_usd=0, unpriced=0)
    for n, cost in enumerate((0.5, 0.25, None)):
        one = RUN.model_copy(update={"run_id": f"20260101-000000-2222222{n + 2}", "cost_usd": cost})
        runs.record_run(database, one, [], record="")
        runs.record_run(database, one, [], record="")
    runs.record_run(database, RUN.model_copy(update={"run_id": "other", "edition": "f"}), [], record="")
    assert runs.spent(database, edition.batch, edition.name) == Spent(tokens=60, cost_usd=0.75, unpriced=1)
