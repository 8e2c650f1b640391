"""What the history's queries say equals what plain Python says of the same runs, on SQLite and on Postgres."""

from __future__ import annotations

import math
import string
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from fnmatch import fnmatchcase
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete

from atomic.failures import FailureKind
from atomic.record import AttemptRecord, RunRecord
from atomic.record.layout import first_id
from atomic.record.totals import with_attempts
from atomic.verdict.facts import Status, Usage, Verdict
from flows import history
from flows.database import Database, runs
from flows.database.labels import name_of
from flows.database.runs import Recorded
from flows.database.tables import metadata
from flows.history import RunFilter
from flows.history.zones import day_of

LETTERS = string.ascii_lowercase
BEGIN = datetime(2026, 3, 26, tzinfo=UTC).timestamp()  # Europe's clocks go forward on the 29th
ZONES = (UTC, ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Kathmandu"), timezone(-timedelta(hours=9, minutes=30)))
MODELS = (None, "p/one", "p/one:high", "q/two", "q/three:free")
KINDS = (FailureKind.RATE_LIMIT, FailureKind.OVERFLOW, FailureKind.CRASHED)


@dataclass(frozen=True)
class Ran:
    """A run and its attempts."""

    run: RunRecord
    attempts: tuple[AttemptRecord, ...]
    prompt: str

    @property
    def kinds(self) -> set[str]:
        return {str(kind) for kind in (self.run.kind, *(one.kind for one in self.attempts)) if kind}

    @property
    def models(self) -> set[str]:
        found = {one for a in self.attempts for one in (a.model, a.answered_by) if one}
        found |= {self.run.answered_by} if self.run.answered_by else set()
        return found | {name_of(one) or "" for one in found}

    @property
    def hopped(self) -> bool:
        first = self.attempts[0].model if self.attempts else None
        answered_by = self.run.answered_by
        return self.run.status == "answered" and None not in (first, answered_by) and name_of(first) != answered_by


usages = st.builds(
    lambda i, o, r, w, c: Usage(input=i, output=o, cacheRead=r, cacheWrite=w, cost_usd=c),
    *[st.integers(0, 1000) for _ in range(4)],
    st.none() | st.integers(0, 64).map(lambda n: n / 64),
)


@st.composite
def attempts(draw: st.DrawFn, n: int, at: float, *, answers: bool) -> AttemptRecord:
    model = draw(st.sampled_from(MODELS))
    usage = draw(usages)
    waited = draw(st.none() | st.floats(0.001, 100))
    verdict = Verdict(
        status=Status.ANSWERED if answers else Status.FAILED,
        kind=None if answers else draw(st.sampled_from(KINDS)),
        answered_by=draw(st.sampled_from([name_of(model), "r/inner"])) if answers else None,
        usage=usage,
        cost_usd=usage.cost_usd,
        first_token_at=None if waited is None else at + waited,
    )
    begun = AttemptRecord(run_id="-", n=n, model=model, started_at=at, record=f"attempt-{n}")
    return begun.concluded(verdict, ended_at=at + draw(st.floats(0.001, 5000)))


@st.composite
def ran(draw: st.DrawFn) -> Ran:
    at = BEGIN + draw(st.integers(0, 6 * 86_400))
    status = draw(st.sampled_from(["running", "answered", "failed"]))
    steps = tuple(
        draw(attempts(n + 1, at, answers=status == "answered" and n == last))
        for last in [draw(st.integers(1 if status == "answered" else 0, 3)) - 1]
        for n in range(last + 1)
    )
    batch = draw(st.sampled_from([None, "nightly", "other"]))
    record = RunRecord(
        run_id="-",
        name=draw(st.sampled_from([None, "triage-1", "Triage-2", "50%_off"])),
        batch=batch,
        edition=draw(st.sampled_from(["e1", "e2"])) if batch else None,
        custom_id=draw(st.sampled_from([None, "item-1"])) if batch else None,
        status=status,
        kind=draw(st.sampled_from(KINDS)) if status == "failed" else None,
        message=draw(st.sampled_from(["", "it broke", "429 \0 slow down"])),
        tags=tuple(draw(st.lists(st.sampled_from(["red", "blue", "red-ish"]), unique=True))),
        answered_by=steps[-1].answered_by or steps[-1].model if status == "answered" else None,
        created_at=at,
        ended_at=None if status == "running" else at + draw(st.floats(0.001, 20_000)),
    )
    return Ran(with_attempts(record, steps), steps, draw(st.sampled_from(["", "Say OK", "fix the % sign"])))


def with_ids(found: Sequence[Ran]) -> list[Ran]:
    """The same with ids of their times, the newest first."""
    named = []
    for n, one in enumerate(found):
        run_id = f"{first_id(one.run.created_at)[:-2]}{LETTERS[n // 26]}{LETTERS[n % 26]}"
        steps = tuple(step.model_copy(update={"run_id": run_id}) for step in one.attempts)
        named.append(Ran(one.run.model_copy(update={"run_id": run_id}), steps, one.prompt))
    return sorted(named, key=lambda one: one.run.run_id, reverse=True)


def written(database: Database, found: Sequence[Ran], *, twice: Sequence[int] = ()) -> None:
    """The database with just these runs; some of them written as another run before."""
    with database.writing() as connection:
        for table in reversed(metadata.sorted_tables):
            connection.execute(delete(table))
    entries = [Recorded(one.run, one.attempts, "/r", one.prompt) for one in found]
    before = [entries[n % len(entries)] for n in twice] if entries else []
    started = {"status": "running", "answered_by": None, "kind": None, "ended_at": None, "tags": ("old",)}
    runs.record_runs(database, [Recorded(one.run.model_copy(update=started), (), "/r") for one in before])
    history.overview(database, RunFilter(), UTC)  # figures of days, which what follows makes untrue
    runs.record_runs(database, entries)


filters = st.builds(
    RunFilter,
    status=st.lists(st.sampled_from(["running", "answered", "failed"]), max_size=2, unique=True).map(tuple),
    kind=st.sampled_from([(), (), ("rate_limit",), ("over*", "crashed"), ("auth",)]),
    model=st.sampled_from([(), (), ("p/one",), ("p/one:high",), ("q/*",), ("nobody/*",)]),
    provider=st.sampled_from([(), (), ("p",), ("q", "r")]),
    tag=st.sampled_from([(), (), ("red",), ("red*", "blue"), ("old",)]),
    batch=st.sampled_from([None, None, "nightly"]),
    edition=st.sampled_from([None, None, "e1"]),
    name=st.sampled_from([None, None, "triage-*", "triage-1"]),
    answered_by=st.sampled_from([None, None, "p/one", "?/*"]),
    hopped=st.sampled_from([None, None, True, False]),
    since=st.none() | st.integers(0, 3 * 86_400).map(lambda n: BEGIN + n),
    until=st.none() | st.integers(3 * 86_400, 6 * 86_400).map(lambda n: BEGIN + n),
    text=st.sampled_from([None, None, None, "triage", "% S", "_o", "BROKE"]),
)


def meant(one: Ran, asked: RunFilter) -> bool:
    """Whether a filter means a run, in plain Python."""

    def some(values: Iterable[str | None], patterns: tuple[str, ...]) -> bool:
        return not patterns or any(v is not None and fnmatchcase(v, p) for v in values for p in patterns)

    run = one.run
    texts = [
        text.lower() for text in (run.custom_id, run.name, run.message.replace("\0", "\ufffd"), one.prompt) if text
    ]
    return (
        (not asked.status or run.status in asked.status)
        and some(one.kinds, asked.kind)
        and some(one.models, asked.model)
        and some({model.partition("/")[0] for model in one.models}, asked.provider)
        and all(some(run.tags, (tag,)) for tag in asked.tag)
        and asked.batch in (None, run.batch)
        and asked.edition in (None, run.edition)
        and some([run.name], (asked.name,) if asked.name else ())
        and some([run.answered_by], (asked.answered_by,) if asked.answered_by else ())
        and asked.hopped in (None, one.hopped)
        and (asked.since is None or run.created_at >= asked.since)
        and (asked.until is None or run.created_at < asked.until)
        and (asked.text is None or any(asked.text.lower() in text for text in texts))
    )


def cost(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def rank(values: Iterable[float], q: float) -> float | None:
    ordered = sorted(values)
    return ordered[math.ceil(q * len(ordered)) - 1] if ordered else None


def near(found: float | None, right: float | None) -> bool:
    return found == right if found is None or right is None else abs(found - right) <= 0.05 * right


law = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@law
@given(found=st.lists(ran(), max_size=30), asked=filters, twice=st.lists(st.integers(0, 30)), limit=st.integers(1, 7))
def test_pages_hold_the_runs_that_are_meant_each_once_the_newest_first(
    database: Database, found: list[Ran], asked: RunFilter, twice: list[int], limit: int
) -> None:
    all_of = with_ids(found)
    written(database, all_of, twice=twice)
    right = [one.run.run_id for one in all_of if meant(one, asked)]
    page = history.runs_page(database, asked, limit=limit)
    assert page.total in (None, len(right))
    assert len(page.rows) == min(limit, len(right))
    got = list(page.rows)
    while page.next is not None:
        page = history.runs_page(database, asked, after=page.next, limit=limit)
        got += page.rows
    assert [row.run_id for row in got] == right
    back = list(page.rows)
    while page.newer is not None:
        page = history.runs_page(database, asked, before=page.newer, limit=limit)
        back = [*page.rows, *back]
    assert [row.run_id for row in back] == right
    assert history.run_rows(database, [*right, "none"]) == tuple(got)
    ranked = history.ranked_page(database, asked, by="cost", limit=limit)
    dearest = list(ranked.rows)
    while ranked.next is not None:
        ranked = history.ranked_page(database, asked, by="cost", after=ranked.next, limit=limit)
        dearest += ranked.rows
    assert dearest == sorted(
        got, key=lambda row: (-1 if row.cost_usd is None else row.cost_usd, row.run_id), reverse=True
    )
    by_id = {one.run.run_id: one for one in all_of}
    for row in got:
        one = by_id[row.run_id]
        assert (row.status, row.kind, row.cost_usd, row.tags) == (
            one.run.status,
            one.run.kind,
            one.run.cost_usd,
            one.run.tags,
        )
        assert (row.hopped, row.prompt, row.attempts) == (one.hopped, one.prompt, len(one.attempts))
        steps = history.attempts_of(database, row.run_id)
        assert [(s.n, s.model, s.kind, s.cost_usd) for s in steps] == [
            (s.n, s.model, s.kind, s.verdict and s.verdict.cost_usd) for s in one.attempts
        ]


@law
@given(
    found=st.lists(ran(), max_size=30),
    asked=filters | st.builds(RunFilter, since=st.none() | st.integers(0, 2 * 86_400).map(lambda n: BEGIN + n)),
    twice=st.lists(st.integers(0, 30)),
    zone=st.sampled_from(ZONES),
)
def test_figures_are_the_sums_over_the_runs_that_are_meant(
    database: Database, found: list[Ran], asked: RunFilter, twice: list[int], zone: tzinfo
) -> None:
    all_of = with_ids(found)
    written(database, all_of, twice=twice)
    those = [one for one in all_of if meant(one, asked)]
    overview_is_right(history.overview(database, asked, zone), those)
    days = Counter((day_of(one.run.created_at, zone), str(one.run.kind or one.run.status)) for one in those)
    assert {(one.day, one.kind): one.runs for one in history.outcomes_by_day(database, asked, zone)} == days
    models_are_right(history.cost_by_model(database, asked, zone), those)
    spent: dict[tuple[date, str | None], list[float | None]] = {}
    for one in those:
        for step in one.attempts:
            spent.setdefault((day_of(one.run.created_at, zone), name_of(step.model)), []).append(paid(step))
    got = {(one.day, one.model): one.cost_usd for one in history.spend_by_day(database, asked, zone)}
    assert got == pytest.approx({key: cost(values) for key, values in spent.items()})
    pairs = Counter(
        (name_of(a.model), name_of(b.model), str(a.kind))
        for one in those
        for a, b in pairwise(one.attempts)
        if name_of(a.model) != name_of(b.model)
    )
    assert {(hop.source, hop.target, hop.kind): hop.runs for hop in history.hops(database, asked, zone)} == pairs
    failed = Counter(str(step.kind) for one in those for step in one.attempts if step.kind)
    assert {one.kind: one.attempts for one in history.kinds(database, asked, zone) if one.attempts} == failed
    for timed in history.durations(database, asked, zone):
        took = [s.ended_at - s.started_at for s in steps_of(those, timed.model) if s.ended_at is not None]
        assert near(timed.p50, rank(took, 0.5))
        assert near(timed.p95, rank(took, 0.95))


def overview_is_right(whole: history.Overview, those: Sequence[Ran]) -> None:
    steps = [step for one in those for step in one.attempts]
    assert whole.whole
    assert (whole.runs, whole.hopped) == (len(those), sum(one.hopped for one in those))
    assert (whole.answered, whole.failed, whole.running) == tuple(
        sum(one.run.status == status for one in those) for status in ("answered", "failed", "running")
    )
    assert whole.cost_usd == pytest.approx(cost(one.run.cost_usd for one in those))
    assert whole.failed_cost_usd == pytest.approx(cost(paid(s) for s in steps if s.status is Status.FAILED))
    assert whole.unpriced == sum(one.run.cost_usd is None and one.run.usage.tokens > 0 for one in those)
    assert whole.tokens == sum(one.run.usage.tokens for one in those)
    took = [one.run.ended_at - one.run.created_at for one in those if one.run.ended_at is not None]
    waited = [s.verdict.first_token_at - s.started_at for s in steps if s.verdict and s.verdict.first_token_at]
    assert near(whole.p50, rank(took, 0.5))
    assert near(whole.p95, rank(took, 0.95))
    assert near(whole.ttft_p50, rank(waited, 0.5))
    assert near(whole.ttft_p95, rank(waited, 0.95))


def models_are_right(costs: Sequence[history.ModelCost], those: Sequence[Ran]) -> None:
    assert {one.model for one in costs} == {name_of(step.model) for one in those for step in one.attempts}
    for one in costs:
        own = steps_of(those, one.model)
        assert (one.attempts, one.answers) == (len(own), sum(step.status is Status.ANSWERED for step in own))
        assert one.cost_usd == pytest.approx(cost(map(paid, own)))
        assert one.failed_cost_usd == pytest.approx(cost(paid(s) for s in own if s.status is Status.FAILED))
        assert one.tokens == sum(step.verdict.usage.tokens for step in own if step.verdict)


def steps_of(those: Sequence[Ran], model: str | None) -> list[AttemptRecord]:
    return [step for one in those for step in one.attempts if name_of(step.model) == model]


def paid(step: AttemptRecord) -> float | None:
    return step.verdict.cost_usd if step.verdict else None
