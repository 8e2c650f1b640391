"""What a batch decides, decided by functions: shares, streaks, budgets, what is tracked, what an answer means."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atomic.errors import PolicyError
from atomic.failures import FailureKind
from atomic.models import ModelRef
from atomic.policy import End, FallbackPolicy, Start, Wait, model_key
from atomic.providers import Answer, Reach
from atomic.verdict.facts import Status, Usage
from flows.batch.budget import Budget, Meter, check_budget, together
from flows.batch.facts import BatchResult, Ending
from flows.batch.gate import all_wait, first_step
from flows.batch.preflight import judge, without
from flows.batch.share import Share, after_answer, after_limit
from flows.batch.stopping import Stop
from flows.batch.streak import AT_ONCE, Streak, after, broken
from flows.batch.tracking import MOST_TASKS, Pace, tracked
from flows.database.items import UNDECIDED
from flows.inputs import Choice

ONE, TWO = ModelRef.parse("a/one"), ModelRef.parse("b/two")
POLICY = FallbackPolicy(models=[ONE, TWO])

# What a provider says of a session, and how many sessions were running and for how long this one had been.
said = st.tuples(st.booleans(), st.integers(1, 64), st.floats(0, 5))


class TestShare:
    @given(st.integers(1, 64), st.lists(said, max_size=60))
    def test_there_is_always_a_session_and_never_more_than_the_most(
        self, most: int, told: list[tuple[bool, int, float]]
    ) -> None:
        share = Share.of(most)
        for now, (answered, in_use, lasted) in enumerate(told):
            before = share
            if answered:
                share = after_answer(share)
                assert share.size >= before.size
            else:
                share = after_limit(share, in_use=in_use, started_at=now - lasted, now=now)
                assert share.size <= before.size
            assert 1 <= share.allowed <= most

    @given(st.integers(2, 64))
    def test_it_halves(self, most: int) -> None:
        share = after_limit(Share.of(most), in_use=most, started_at=0, now=1)
        assert share.allowed == most // 2

    def test_a_burst_that_fails_together_halves_it_once(self) -> None:
        share = Share.of(16)
        for now in (10.0, 10.1, 10.2):
            share = after_limit(share, in_use=16, started_at=5, now=now)
        assert share.allowed == 8
        assert after_limit(share, in_use=8, started_at=11, now=12).allowed == 4

    @given(st.integers(2, 32))
    def test_as_many_answers_as_are_allowed_bring_one_session_more(self, most: int) -> None:
        share = after_limit(Share.of(most), in_use=most, started_at=0, now=1)
        before = share.allowed
        for _ in range(before + 1):
            share = after_answer(share)
        assert share.allowed == min(most, before + 1)

    def test_what_is_halved_is_what_was_used(self) -> None:
        assert after_limit(Share.of(64), in_use=6, started_at=0, now=1).allowed == 3


outcomes = st.tuples(st.sampled_from(Status), st.sampled_from(FailureKind))


class TestStreak:
    @given(st.lists(outcomes, max_size=60), st.integers(1, 10))
    def test_it_breaks_when_so_many_of_one_kind_have_no_answer_between(
        self, told: list[tuple[Status, FailureKind]], most: int
    ) -> None:
        streak = Streak()
        seen: list[FailureKind | None] = []
        for status, kind in told:
            streak = after(streak, status, None if status is Status.ANSWERED else kind)
            if status is Status.ANSWERED:
                seen.append(None)
            elif kind not in UNDECIDED:
                seen.append(kind)
        last = seen[-1] if seen else None
        row = 0
        while row < len(seen) and last is not None and seen[-1 - row] is last:
            row += 1
        assert streak.length == row
        wanted = last in AT_ONCE or row >= most
        assert (broken(streak, most) is not None) == (last is not None and wanted)

    def test_it_never_breaks_where_that_is_not_wanted(self) -> None:
        assert broken(Streak(FailureKind.AUTH, 1000), 0) is None

    @pytest.mark.parametrize("kind", sorted(AT_ONCE))
    def test_a_broken_agent_breaks_it_at_once(self, kind: FailureKind) -> None:
        why = broken(after(Streak(), Status.FAILED, kind), 20)
        assert why is not None
        assert kind in why


usages = st.builds(
    Usage,
    input=st.integers(0, 1000),
    output=st.integers(0, 1000),
    cost_usd=st.none() | st.floats(0, 10),
)


class TestBudget:
    @given(st.lists(st.tuples(st.integers(0, 5), usages), max_size=30), st.sets(st.integers(0, 5)))
    def test_the_meter_counts_each_run_once(self, told: list[tuple[int, Usage]], ended: set[int]) -> None:
        meter = Meter(cost_usd=1, tokens=10)
        newest = dict(told)
        for item, usage in told:
            meter.live(item, usage)
        for item in ended & newest.keys():
            meter.ended(item, newest[item])
        assert meter.tokens == 10 + sum(usage.tokens for usage in newest.values())
        assert math.isclose(meter.cost_usd, 1 + sum(usage.cost_usd or 0 for usage in newest.values()))

    @given(st.floats(0, 100), st.integers(0, 1000), st.floats(0, 100), st.integers(0, 1000))
    def test_it_is_spent_when_a_bound_is_reached(self, dollars: float, most: int, cost: float, tokens: int) -> None:
        over = (0 < dollars <= cost) or (0 < most <= tokens)
        assert (Budget(dollars, most).spent(cost, tokens) is not None) == over

    @given(usages, usages)
    def test_a_cost_that_nobody_knows_is_not_nothing(self, first: Usage, second: Usage) -> None:
        both = together(first, second)
        assert both.tokens == first.tokens + second.tokens
        assert (both.cost_usd is None) == (first.cost_usd is None and second.cost_usd is None)

    def test_dollars_are_refused_where_a_price_is_not_known(self) -> None:
        with pytest.raises(PolicyError, match="b/two"):
            check_budget(Budget(cost_usd=5), [POLICY], lambda model: model == ONE)
        check_budget(Budget(cost_usd=5, tokens=1000), [POLICY], lambda _: False)
        check_budget(Budget(cost_usd=5), [POLICY], lambda _: True)

    def test_dollars_are_refused_for_the_agents_own_model(self) -> None:
        with pytest.raises(PolicyError, match="own default model"):
            check_budget(Budget(cost_usd=5), [FallbackPolicy()], lambda _: True)


class TestGate:
    @given(st.floats(0, 1000), st.floats(0, 1000), st.floats(0, 1000))
    def test_an_item_begins_is_parked_or_is_given_up(self, one: float, two: float, wait_until: float) -> None:
        now = 500.0
        cooldowns = {model_key(ONE): one, model_key(TWO): two}
        step = first_step(POLICY, cooldowns, now, wait_until)
        free = min(max(one, now), max(two, now))
        if free <= now:
            assert isinstance(step, Start)
        elif free <= wait_until:
            assert isinstance(step, Wait)
            assert step.until == free
        else:
            assert isinstance(step, End)

    def test_one_free_policy_is_enough_to_go_on(self) -> None:
        cooldowns = {model_key(ONE): 900.0}
        alone, other = FallbackPolicy(models=[ONE]), FallbackPolicy(models=[TWO])
        assert all_wait([alone], cooldowns, 500, math.inf) == 900
        assert all_wait([alone, other], cooldowns, 500, math.inf) is None
        assert all_wait([alone], cooldowns, 500, 600) is None  # given up: that, too, is something to do


class TestTracking:
    def test_sessions_are_tasks_until_there_are_too_many_for_the_server(self) -> None:
        assert tracked("session", 1000)
        assert not tracked("shard", 0.1)
        assert tracked("auto", None)
        assert tracked("auto", MOST_TASKS)
        assert not tracked("auto", MOST_TASKS * 1.01)

    @given(st.floats(0.01, 2))
    def test_the_pace_of_what_comes_evenly_is_its_rate(self, gap: float) -> None:
        pace = Pace(window=1000)
        for n in range(100):
            pace.tick(n * gap)
        rate = pace.rate(99 * gap)
        assert rate is not None
        assert math.isclose(rate, 1 / gap, rel_tol=0.02)

    def test_a_few_say_nothing(self) -> None:
        pace = Pace()
        pace.tick(0)
        assert pace.rate(1) is None


class TestPreflight:
    def test_a_refused_key_takes_its_models_away(self) -> None:
        found = judge([ONE, TWO], [Answer(provider="a", reach=Reach.KEY_REFUSED, source="A_KEY"), answer("b")])
        assert found.dead == {ONE}
        assert "A_KEY" in found.said[0]
        assert without({Choice(None, ()): POLICY}, found)[Choice(None, ())].models == (TWO,)

    def test_a_policy_without_a_model_is_refused(self) -> None:
        found = judge([ONE], [Answer(provider="a", reach=Reach.NO_KEY)])
        with pytest.raises(PolicyError, match="a/one"):
            without({Choice(None, ()): FallbackPolicy(models=[ONE])}, found)

    def test_a_model_that_is_not_listed_is_tried_where_there_is_no_other(self) -> None:
        found = judge([ONE, TWO], [answer("a", "other"), answer("b", "two")])
        assert found.doubtful == {ONE}
        choices = {Choice(None, ()): POLICY, Choice(None, ("a/one",)): FallbackPolicy(models=[ONE])}
        left = without(choices, found)
        assert [policy.models for policy in left.values()] == [(TWO,), (ONE,)]

    def test_a_network_that_is_down_is_said_once_and_blocks_nothing(self) -> None:
        gone = [Answer(provider=name, reach=Reach.UNREACHABLE, said="no route") for name in ("a", "b")]
        found = judge([ONE, TWO], gone)
        assert not found.dead
        assert len(found.said) == 1
        assert "a, b" in found.said[0]


def answer(provider: str, *models: str) -> Answer:
    return Answer(provider=provider, reach=Reach.REACHABLE, models=frozenset(models) if models else None)


class TestStop:
    @given(st.lists(st.sampled_from(["drain", "finish", "now"]), min_size=1))
    def test_the_first_says_why_and_the_strongest_says_how(self, hows: list[str]) -> None:
        told: list[str] = []
        stop = Stop()
        stop.listen(told.append)
        for n, how in enumerate(hows):
            stop(list(Ending)[n % len(Ending)], how, f"reason {n}")  # type: ignore[arg-type]
        order = ["drain", "finish", "now"]
        assert stop.reason == "reason 0"
        assert stop.how == max(hows, key=order.index)
        assert [order.index(how) for how in told] == sorted({order.index(how) for how in told})

    def test_who_listens_later_hears_of_it(self) -> None:
        told: list[str] = []
        stop = Stop()
        stop(Ending.INTERRUPTED, "now", "Ctrl-C")
        stop.listen(told.append)
        assert told == ["now"]


class TestResult:
    @pytest.mark.parametrize(
        ("ending", "failed", "code"),
        [
            (Ending.FINISHED, 0, 0),
            (Ending.FINISHED, 3, 1),
            (Ending.LIMIT, 0, 0),
            (Ending.BUDGET, 0, 3),
            (Ending.HALTED, 20, 1),
            (Ending.STOPPED, 0, 130),
            (Ending.INTERRUPTED, 0, 130),
            (Ending.TERMINATED, 0, 143),
        ],
    )
    def test_exit_codes(self, ending: Ending, failed: int, code: int) -> None:
        result = BatchResult(batch="b", edition="e", ending=ending, failed=failed, left=1)
        assert result.exit_code == code
        assert result.go_on
        assert result.to_json()["exit_code"] == code
