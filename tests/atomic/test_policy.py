"""Policies as people write them: what is understood, what is refused and how, and what happens on each kind."""

from __future__ import annotations

from typing import Any

import pytest

from atomic.errors import ModelRefError, PolicyError
from atomic.failures import FailureKind
from atomic.models import ModelRef
from atomic.policy import (
    DEFAULTS,
    Attempted,
    End,
    FallbackPolicy,
    Limits,
    Move,
    Start,
    Step,
    Wait,
    cools,
    decide,
    describe,
    resolve_policies,
)
from atomic.verdict.facts import Status, Usage, Verdict

A, A2, B, C = (ModelRef.parse(name) for name in ("a/one", "a/two", "b/one", "c/one"))
ALL = FallbackPolicy(models=[A, A2, B, C])
KIND = FailureKind


def failed(n: int, model: ModelRef | None, kind: FailureKind, at: float = 0, **more: Any) -> Attempted:
    carried, session = more.pop("carried", False), more.pop("session", False)
    verdict = Verdict(status=Status.FAILED, kind=kind, **more)
    return Attempted(n, model, verdict, at, carried=carried, has_session=session)


def start(step: Step) -> Start:
    assert isinstance(step, Start)
    return step


def end(step: Step) -> End:
    assert isinstance(step, End)
    return step


def wait(step: Step) -> Wait:
    assert isinstance(step, Wait)
    return step


class TestWriting:
    def test_every_form_of_an_action_is_understood(self) -> None:
        policy = FallbackPolicy.model_validate(
            {
                "models": ["a/one", "b/one:high"],
                "on": {
                    "overflow": {"accept": "complete", "then": "larger-window"},
                    "crashed": {"retry": 2, "delay": 5, "then": "next"},
                    "output_limit": "accept",
                    "refusal": "other-provider",
                    "network": {"retry": 3},
                },
            }
        )
        assert str(policy.rule(KIND.OVERFLOW)) == "accept a complete answer, then larger-window"
        assert str(policy.rule(KIND.CRASHED)) == "retry 2 after 5 s, then next"
        assert str(policy.rule(KIND.OUTPUT_LIMIT)) == "accept an answer, then next"
        assert policy.rule(KIND.REFUSAL).then is Move.OTHER_PROVIDER
        assert str(policy.rule(KIND.NETWORK)) == "retry 3, then next"
        assert str(policy.rule(KIND.EMPTY)) == "retry 1, then next"

    def test_a_policy_reads_back_from_the_record_it_was_written_to(self) -> None:
        for policy in (ALL, FallbackPolicy(), FallbackPolicy(models=["a/b:low"], on={"empty": {"retry": 2}})):
            assert FallbackPolicy.model_validate_json(policy.model_dump_json()) == policy

    @pytest.mark.parametrize(
        ("given", "key", "nearest"),
        [
            ({"modles": ["a/b"]}, "modles", "models"),
            ({"on": {"overflw": "next"}}, "on.overflw", "overflow"),
            ({"on": {"overflow": "larger_window"}}, "on.overflow", "larger-window"),
            ({"on": {"crashed": {"retires": 1}}}, "on.crashed.retires", "retry"),
            ({"on": {"crashed": {"retry": 1, "then": "nxt"}}}, "on.crashed.then", "next"),
            ({"cooldown": {"ratelimit": 5}}, "cooldown.ratelimit", "rate_limit"),
            ({"limits": {"idel": 5}}, "limits.idel", "idle"),
        ],
    )
    def test_a_slip_of_the_pen_is_refused_and_the_nearest_right_word_named(
        self, given: dict[str, Any], key: str, nearest: str
    ) -> None:
        with pytest.raises(PolicyError) as caught:
            FallbackPolicy.model_validate(given)
        assert (caught.value.key, caught.value.nearest) == (key, nearest)
        assert f"did you mean '{nearest}'?" in caught.value.message

    @pytest.mark.parametrize(
        ("given", "key", "why"),
        [
            ({"models": []}, "models", "at least one"),
            ({"models": ["a/b", "c/d", "a/b"]}, "models", "a/b is there twice"),
            ({"models": "a/b"}, "models", "a list of names"),
            ({"models": [3]}, "models.0", "a list of names"),
            ({"max_attempts": 0}, "max_attempts", "greater than or equal to 1"),
            ({"max_wait": -1}, "max_wait", "greater than or equal to 0"),
            ({"max_wait": float("inf")}, "max_wait", "finite"),
            ({"after_tools": "restart"}, "after_tools", "'carry', 'fresh' or 'stop'"),
            ({"continue_prompt": " "}, "continue_prompt", "cannot be empty"),
            ({"continue_prompt": "/resume"}, "continue_prompt", "command"),
            ({"on": {"cancelled": "next"}}, "on", "always stops"),
            ({"on": {"crashed": {"retry": -1}}}, "on.crashed.retry", "greater"),
            ({"on": {"crashed": {"then": "accept"}}}, "on.crashed.then", "unknown move"),
            ({"on": {"crashed": 3}}, "on.crashed", "unknown action"),
            ({"limits": {"tokens": -5}}, "limits.tokens", "greater"),
        ],
    )
    def test_a_policy_that_cannot_be_followed_is_refused_with_its_key(
        self, given: dict[str, Any], key: str, why: str
    ) -> None:
        with pytest.raises(PolicyError) as caught:
            FallbackPolicy.model_validate(given)
        assert caught.value.key == key
        assert why in caught.value.message

    def test_a_model_without_a_provider_is_refused(self) -> None:
        with pytest.raises(ModelRefError, match="no provider"):
            FallbackPolicy(models=["gpt-5.2"])

    def test_one_model_may_stand_there_with_two_levels(self) -> None:
        assert len(FallbackPolicy(models=["a/one:high", "a/one:low"]).models) == 2


class TestNames:
    def test_extending_lays_tables_over_each_other_key_by_key_and_replaces_the_rest(self) -> None:
        policies = resolve_policies(
            {
                "nightly": {"extends": "default", "models": ["c/one"], "on": {"empty": "stop"}, "limits": {"idle": 5}},
                "default": {"models": ["a/one", "b/one"], "on": {"overflow": "stop"}, "limits": {"tool": 7}},
                "later": {"extends": "nightly", "max_wait": 1, "on": {"empty": "next"}},
            }
        )
        later = policies["later"]
        assert [str(model) for model in later.models] == ["c/one"]
        assert later.rule(KIND.OVERFLOW).then is Move.STOP
        assert later.rule(KIND.EMPTY).then is Move.NEXT
        assert (later.limits.idle, later.limits.tool, later.max_wait) == (5, 7, 1)
        assert policies["nightly"].rule(KIND.EMPTY).then is Move.STOP

    def test_policies_that_extend_each_other_in_a_circle_are_refused(self) -> None:
        with pytest.raises(PolicyError, match="a → b → c → a"):
            resolve_policies({"a": {"extends": "b"}, "b": {"extends": "c"}, "c": {"extends": "a"}})
        with pytest.raises(PolicyError, match="a → a"):
            resolve_policies({"a": {"extends": "a"}})

    def test_a_base_that_nobody_defined_is_refused_with_the_nearest(self) -> None:
        with pytest.raises(PolicyError, match="did you mean 'default'") as caught:
            resolve_policies({"default": {}, "x": {"extends": "defualt"}})
        assert (caught.value.policy, caught.value.key) == ("x", "extends")

    def test_the_error_names_the_policy(self) -> None:
        with pytest.raises(PolicyError, match="policy 'x': unknown key 'modles'") as caught:
            resolve_policies({"default": {}, "x": {"modles": ["a/b"]}})
        assert (caught.value.policy, caught.value.nearest) == ("x", "models")


class TestDefaults:
    def test_every_kind_has_a_row_with_a_reason(self) -> None:
        assert set(DEFAULTS) == set(FailureKind)
        rows = describe(FallbackPolicy())
        assert [row.kind for row in rows] == list(FailureKind)
        assert all(row.action and row.why and row.source == "default" for row in rows)

    def test_the_table_says_what_people_are_told(self) -> None:
        rows = {row.kind: (row.passing, row.action, row.cools) for row in describe(FallbackPolicy())}
        assert rows[KIND.OVERFLOW] == ("no", "larger-window", "–")
        assert rows[KIND.RATE_LIMIT] == ("yes", "other-provider", "model 60 s")
        assert rows[KIND.NETWORK] == ("yes", "retry 1 after 5 s, then next", "model 30 s")
        assert rows[KIND.AUTH][1:] == ("retry 1 after 2 s, then other-provider", "key 600 s")
        stopping = {kind for kind, (_, action, _) in rows.items() if action == "stop"}
        assert stopping == {
            *(KIND.REFUSAL, KIND.ABORTED, KIND.TIMEOUT, KIND.BUDGET),
            *(KIND.CONFIGURATION, KIND.UNREADABLE, KIND.CANCELLED),
        }

    def test_a_policy_s_own_rule_is_shown_as_its_own(self) -> None:
        rows = {row.kind: row for row in describe(FallbackPolicy(on={"crashed": "stop"}, cooldown={"empty": 9}))}
        assert (rows[KIND.CRASHED].action, rows[KIND.CRASHED].source) == ("stop", "policy")
        assert rows[KIND.EMPTY].cools == "model 9 s"


class TestSteps:
    def test_the_first_model_begins_and_one_that_cools_down_is_passed_over(self) -> None:
        assert start(decide(ALL, [], {}, 0)).model == A
        assert start(decide(ALL, [], {"model/a/one": 9}, 0)).model == A2
        assert start(decide(ALL, [], {"credential/a": 9}, 0)).model == B

    def test_a_rate_limit_goes_to_another_provider_and_the_model_cools_down(self) -> None:
        attempts = [failed(1, A, KIND.RATE_LIMIT, at=100)]
        assert cools(ALL, attempts) == ("model/a/one", 160)
        assert start(decide(ALL, attempts, {"model/a/one": 160}, 100)).model == B

    def test_the_provider_s_own_time_goes_before_the_default(self) -> None:
        assert cools(ALL, [failed(1, A, KIND.RATE_LIMIT, at=100, retry_at=500)]) == ("model/a/one", 500)
        assert cools(ALL, [failed(1, A, KIND.QUOTA, at=100, retry_at=500)]) == ("credential/a", 500)

    def test_a_network_failure_is_tried_again_after_its_delay_and_only_then_cools_the_model(self) -> None:
        once = [failed(1, A, KIND.NETWORK, at=100)]
        assert cools(ALL, once) is None
        assert wait(decide(ALL, once, {}, 100)).until == 105
        assert start(decide(ALL, once, {}, 105)).model == A
        twice = [*once, failed(2, A, KIND.NETWORK, at=110)]
        assert cools(ALL, twice) == ("model/a/one", 140)
        assert start(decide(ALL, twice, {"model/a/one": 140}, 110)).model == A2

    def test_a_retry_gives_way_when_somebody_else_found_the_model_cooling(self) -> None:
        once = [failed(1, A, KIND.NETWORK, at=100)]
        assert start(decide(ALL, once, {"model/a/one": 400}, 100)).model == A2

    def test_a_bad_key_is_tried_once_more_and_then_its_provider_is_left(self) -> None:
        once = [failed(1, A, KIND.AUTH, at=100)]
        assert wait(decide(ALL, once, {}, 100)).until == 102
        twice = [*once, failed(2, A, KIND.AUTH, at=103)]
        assert start(decide(ALL, twice, {}, 103)).model == B
        assert cools(ALL, twice) is None
        assert cools(ALL, twice, key_is_bad=True) == ("credential/a", 703)

    def test_an_overflow_goes_to_the_next_model_whose_window_is_larger_or_unknown(self) -> None:
        overflow = [failed(1, A, KIND.OVERFLOW)]
        windows = {"a/one": 100, "a/two": 100, "b/one": 50, "c/one": 200}
        assert start(decide(ALL, overflow, {}, 0, windows=windows)).model == C
        assert start(decide(ALL, overflow, {}, 0, windows={**windows, "a/two": 101})).model == A2
        assert start(decide(ALL, overflow, {}, 0, windows={"a/one": 100, "a/two": 9})).model == B
        assert start(decide(ALL, overflow, {}, 0, windows={**windows, "c/one": 10})).model == A2

    def test_a_model_that_was_passed_over_comes_before_one_that_was_tried(self) -> None:
        attempts = [failed(1, A, KIND.RATE_LIMIT), failed(2, C, KIND.RATE_LIMIT)]
        assert start(decide(ALL, attempts, {}, 0)).model == A2

    def test_when_all_cool_down_the_run_waits_for_the_first_that_is_free(self) -> None:
        policy = FallbackPolicy(models=[A, B])
        attempts = [failed(1, A, KIND.RATE_LIMIT), failed(2, B, KIND.RATE_LIMIT)]
        cooling = {"model/a/one": 90.0, "model/b/one": 60.0}
        assert wait(decide(policy, attempts, cooling, 10)).until == 60
        assert start(decide(policy, attempts, cooling, 60, waited=50)).model == B

    def test_a_wait_beyond_the_patience_left_ends_the_run_and_says_so(self) -> None:
        policy = FallbackPolicy(models=[A], max_wait=30)
        attempts = [failed(1, A, KIND.RATE_LIMIT)]
        over = end(decide(policy, attempts, {"model/a/one": 60.0}, 0))
        assert over.kind is KIND.RATE_LIMIT
        assert "cooling down" in over.message
        assert "max_wait" in over.message
        assert wait(decide(policy, attempts, {"model/a/one": 60.0}, 40, waited=10)).until == 60
        assert end(decide(policy, attempts, {"model/a/one": 60.0}, 40, waited=15))

    def test_when_every_model_cools_down_from_the_start_nothing_is_tried_in_vain(self) -> None:
        over = end(decide(FallbackPolicy(models=[A], max_wait=5), [], {"model/a/one": 60.0}, 0))
        assert (over.status, over.kind) == ("failed", KIND.MODEL_UNAVAILABLE)
        assert "a/one" in over.message

    @pytest.mark.parametrize(("retry_at", "again"), [(None, False), (500.0, True), (900.0, True), (9000.0, False)])
    def test_a_quota_is_waited_for_only_when_its_end_is_near(self, retry_at: float | None, again: bool) -> None:
        policy = FallbackPolicy(models=[A])
        attempts = [failed(1, A, KIND.QUOTA, at=0, retry_at=retry_at)]
        cooled = cools(policy, attempts)
        assert cooled is not None
        step = decide(policy, attempts, dict([cooled]), 0)
        assert isinstance(step, Wait if again else End)

    def test_a_quota_whose_end_was_far_is_not_waited_for_later_either(self) -> None:
        attempts = [failed(1, A, KIND.QUOTA, at=0, retry_at=1000), failed(2, B, KIND.OVERFLOW, at=500)]
        assert isinstance(decide(FallbackPolicy(models=[A, B]), attempts, {"credential/a": 1000.0}, 500), End)

    def test_the_order_goes_on_behind_the_current_model(self) -> None:
        attempts = [failed(1, A, KIND.RATE_LIMIT), failed(2, B, KIND.OVERFLOW)]
        assert start(decide(ALL, attempts, {}, 0)).model == C

    def test_a_rule_that_moves_on_from_interruptions_does_not_go_round_in_circles(self) -> None:
        policy = FallbackPolicy(models=[A, B], on={"interrupted": "next"})
        attempts = [failed(1, A, KIND.INTERRUPTED), failed(2, B, KIND.INTERRUPTED)]
        assert start(decide(policy, attempts[:1], {}, 0)).model == B
        assert "no model is left" in end(decide(policy, attempts, {}, 0)).message

    def test_a_used_up_account_takes_all_models_of_its_provider_with_it(self) -> None:
        attempts = [failed(1, A, KIND.QUOTA)]
        assert cools(ALL, attempts) == ("credential/a", 3600)
        second = failed(2, B, KIND.CRASHED)
        third = failed(3, B, KIND.CRASHED)
        assert start(decide(ALL, [*attempts, second, third], {"credential/a": 3600.0}, 0)).model == C

    def test_an_interrupted_attempt_is_made_again_with_the_same_model_and_does_not_count(self) -> None:
        policy = FallbackPolicy(models=[A, B], max_attempts=1)
        broken = [failed(n, A, KIND.INTERRUPTED) for n in (1, 2, 3)]
        assert start(decide(policy, broken, {}, 0)).model == A
        over = end(decide(policy, [*broken, failed(4, A, KIND.INTERRUPTED)], {}, 0))
        assert "interrupted ×4" in over.message

    def test_the_message_names_every_model_with_its_kinds_and_why_it_ended(self) -> None:
        policy = FallbackPolicy(models=[A, B, C], max_attempts=3)
        attempts = [failed(1, A, KIND.EMPTY), failed(2, A, KIND.EMPTY), failed(3, B, KIND.REFUSAL)]
        over = end(decide(policy, attempts, {}, 0))
        assert over.kind is KIND.REFUSAL
        assert over.message == "a/one: empty ×2; b/one: refusal; not tried: c/one (max_attempts = 3)"

    def test_without_models_the_agent_s_own_gets_one_attempt_and_the_message_says_what_to_add(self) -> None:
        policy = FallbackPolicy()
        assert start(decide(policy, [], {}, 0)).model is None
        over = end(decide(policy, [failed(1, None, KIND.CRASHED)], {}, 0))
        assert "the agent's default model: crashed" in over.message
        assert "two or more" in over.message

    def test_a_dollar_budget_that_is_used_up_ends_the_run(self) -> None:
        policy = FallbackPolicy(models=[A, B], limits=Limits(cost_usd=1))
        spent = failed(1, A, KIND.OVERFLOW, usage=Usage(output=9), cost_usd=1.5)
        over = end(decide(policy, [spent], {}, 0))
        assert over.kind is KIND.BUDGET
        assert over.message == "a/one: overflow; not tried: b/one (the run's budget of $1 is used up)"


class TestAccepting:
    def test_a_complete_answer_before_an_overflow_can_be_taken_with_a_warning(self) -> None:
        policy = FallbackPolicy(models=[A, B], on={"overflow": {"accept": "complete", "then": "larger-window"}})
        whole = failed(1, A, KIND.OVERFLOW, answer="yes", complete=True)
        over = end(decide(policy, [whole], {}, 0))
        assert (over.status, over.attempt) == ("answered", 1)
        assert "overflow" in (over.warning or "")
        cut = failed(1, A, KIND.OVERFLOW, answer="ye", complete=False)
        assert start(decide(policy, [cut], {}, 0)).model == B

    def test_accepting_where_nothing_is_held_does_what_the_kind_does_by_default(self) -> None:
        policy = FallbackPolicy(models=[A, B], on={"output_limit": "accept"})
        assert end(decide(policy, [failed(1, A, KIND.OUTPUT_LIMIT, answer="half")], {}, 0)).status == "answered"
        assert start(decide(policy, [failed(1, A, KIND.OUTPUT_LIMIT)], {}, 0)).model == B

    def test_by_default_a_complete_answer_before_an_overflow_is_not_taken(self) -> None:
        whole = failed(1, A, KIND.OVERFLOW, answer="yes", complete=True)
        assert isinstance(decide(ALL, [whole], {}, 0), Start)


class TestCarrying:
    def test_after_tools_the_next_model_goes_on_with_the_conversation(self) -> None:
        worked = failed(1, A, KIND.RATE_LIMIT, tool_calls=2, session=True)
        assert start(decide(ALL, [worked], {}, 0)).carry_from == 1

    @pytest.mark.parametrize("more", [{"tool_calls": 2}, {"session": True}])
    def test_without_tools_or_without_a_session_file_it_starts_fresh(self, more: dict[str, Any]) -> None:
        assert not start(decide(ALL, [failed(1, A, KIND.RATE_LIMIT, **more)], {}, 0)).carry

    def test_work_is_carried_over_an_attempt_that_did_nothing(self) -> None:
        worked = failed(1, A, KIND.RATE_LIMIT, tool_calls=2, session=True)
        idle = failed(2, B, KIND.RATE_LIMIT, carried=True, session=True)
        lost = failed(2, B, KIND.RATE_LIMIT, carried=True)
        assert start(decide(ALL, [worked, idle], {}, 0)).carry_from == 2
        assert start(decide(ALL, [worked, lost], {}, 0)).carry_from == 1

    def test_after_a_carried_overflow_it_starts_fresh(self) -> None:
        worked = failed(1, A, KIND.RATE_LIMIT, tool_calls=2, session=True)
        full = failed(2, B, KIND.OVERFLOW, carried=True, tool_calls=1, session=True)
        assert not start(decide(ALL, [worked, full], {}, 0)).carry
        first = failed(1, A, KIND.OVERFLOW, tool_calls=2, session=True)
        assert start(decide(ALL, [first], {}, 0)).carry

    def test_a_policy_can_start_fresh_or_stop_after_tools(self) -> None:
        worked = failed(1, A, KIND.RATE_LIMIT, tool_calls=2, session=True)
        fresh = FallbackPolicy(models=[A, B], after_tools="fresh")
        assert not start(decide(fresh, [worked], {}, 0)).carry
        stop = FallbackPolicy(models=[A, B], after_tools="stop")
        assert "tools had run" in end(decide(stop, [worked], {}, 0)).message
        assert isinstance(decide(stop, [failed(1, A, KIND.RATE_LIMIT)], {}, 0), Start)
