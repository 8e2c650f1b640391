"""What a policy promises, whatever the policy and whatever happens: each sentence is a property."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st

from atomic.failures import FailureKind
from atomic.models import ModelRef
from atomic.policy import (
    Attempted,
    End,
    FallbackPolicy,
    Limits,
    Move,
    Rule,
    Start,
    Wait,
    cools,
    decide,
)
from atomic.policy.prompts import prompt_of
from atomic.text import printable
from atomic.verdict.facts import CheckOutcome, CheckReport, Status, Usage, Verdict

NAMES = ("a/one", "a/two:high", "a/two:low", "b/one", "b/two", "c/one")
WINDOWS = {"a/one": 100, "a/two": 200, "b/one": 150}
INTERRUPTED, OVERFLOW, REJECTED = FailureKind.INTERRUPTED, FailureKind.OVERFLOW, FailureKind.REJECTED
T = TypeVar("T")
thorough = settings(max_examples=150, deadline=None)


def mostly(usual: list[T], rare: list[T], times: int = 3) -> st.SearchStrategy[T]:
    """Runs that are over at once tell little: what keeps them going comes more often."""
    return st.sampled_from([*(usual * times), *rare])


LIVELY = [
    *(FailureKind.RATE_LIMIT, FailureKind.NETWORK, FailureKind.QUOTA, FailureKind.PROVIDER_UNAVAILABLE),
    *(INTERRUPTED, OVERFLOW, REJECTED, FailureKind.CRASHED, FailureKind.AUTH),
]
SETTABLE = [kind for kind in FailureKind if kind is not FailureKind.CANCELLED]
rules = st.builds(
    Rule,
    accept=mostly(["never"], ["complete", "any"]),
    retry=st.integers(0, 2),
    delay=st.sampled_from([0, 5, 500]),
    then=mostly([None, Move.NEXT, Move.OTHER_PROVIDER, Move.LARGER_WINDOW], [Move.STOP]),
)
policies = st.builds(
    FallbackPolicy,
    models=st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True),
    max_attempts=mostly([6, 10], [1, 2, 3]),
    max_wait=mostly([900.0], [0.0, 10.0]),
    after_tools=mostly(["carry"], ["fresh", "stop"]),
    after_rejection=st.sampled_from(["carry", "fresh"]),
    on=st.dictionaries(mostly(LIVELY, SETTABLE), rules, max_size=6),
    cooldown=st.dictionaries(mostly(LIVELY, SETTABLE), st.sampled_from([0.0, 20.0, 5000.0]), max_size=4),
    limits=st.builds(Limits, tokens=mostly([0], [100])),
)


@dataclass
class Outcome:
    """What one attempt comes to in a simulated run."""

    kind: FailureKind | None  # None: answered
    seconds: float
    retry_in: float | None
    tools: int
    session: bool
    answer: str | None
    complete: bool
    tokens: int
    foreign: tuple[str, float] | None  # what another run put on cooldown meanwhile, and for how long


outcomes = st.builds(
    Outcome,
    kind=mostly([*LIVELY], [*FailureKind, None], times=6),
    seconds=st.sampled_from([0.0, 1.0, 100.0]),
    retry_in=st.sampled_from([None, None, -5.0, 3.0, 60.0, 9000.0]),
    tools=st.sampled_from([0, 0, 2]),
    session=mostly([True], [False]),
    answer=st.sampled_from([None, "", "text"]),
    complete=st.booleans(),
    tokens=st.sampled_from([0, 40]),
    foreign=mostly([None], [("model/a/one", 30.0), ("model/b/one", 600.0), ("credential/a", 60.0)]),
)


@dataclass
class Simulated:
    """A run with a fake clock, by the policy alone."""

    policy: FallbackPolicy
    attempts: list[Attempted] = field(default_factory=list)
    starts: list[tuple[Start, float, dict[str, float], int]] = field(
        default_factory=list
    )  # step, time, cooldowns, after
    cooldowns: dict[str, float] = field(default_factory=dict)
    now: float = 1000.0
    waited: float = 0.0
    end: End | None = None


def simulate(policy: FallbackPolicy, draw: st.DataObject) -> Simulated:
    """Run to the end. That it comes to one within the bound is itself the first property."""
    run = Simulated(policy)
    bound = bound_of(policy) + 1
    steps = 0
    while run.end is None:
        steps += 1
        assert steps <= 3 * bound + 20, "the run does not end"
        step = decide(policy, run.attempts, run.cooldowns, run.now, windows=WINDOWS, waited=run.waited)
        if isinstance(step, End):
            run.end = step
        elif isinstance(step, Wait):
            assert step.until > run.now, "a wait for the past"
            run.waited += step.until - run.now
            run.now = step.until
        else:
            run.starts.append((step, run.now, dict(run.cooldowns), len(run.attempts)))
            outcome = draw.draw(outcomes)
            run.now += outcome.seconds
            run.attempts.append(attempted(step, outcome, len(run.attempts) + 1, run.now))
            cooled = None if outcome.kind is None else cools(policy, run.attempts, key_is_bad=True)
            if cooled is not None:
                run.cooldowns[cooled[0]] = max(cooled[1], run.cooldowns.get(cooled[0], 0))
            if outcome.foreign is not None:
                key, seconds = outcome.foreign
                run.cooldowns[key] = max(run.now + seconds, run.cooldowns.get(key, 0))
    return run


def attempted(step: Start, outcome: Outcome, n: int, now: float) -> Attempted:
    verdict = Verdict(
        status=Status.ANSWERED if outcome.kind is None else Status.FAILED,
        kind=outcome.kind,
        answer="answer" if outcome.kind is None else outcome.answer,
        complete=outcome.complete and bool(outcome.answer),
        retry_at=None if outcome.retry_in is None else now + outcome.retry_in,
        tool_calls=outcome.tools,
        usage=Usage(output=outcome.tokens),
    )
    return Attempted(n, step.model, verdict, now, carried=step.carry, has_session=outcome.session)


def bound_of(policy: FallbackPolicy) -> int:
    """Attempts that a run can have at most: the counted ones, and each model's interruptions."""
    return policy.max_attempts + (policy.rule(INTERRUPTED).retry + 1) * len(policy.models)


@thorough
@given(policies, st.data())
def test_a_run_ends_within_its_attempts_and_its_patience(policy: FallbackPolicy, data: st.DataObject) -> None:
    run = simulate(policy, data)
    counted = [attempt for attempt in run.attempts if attempt.kind is not INTERRUPTED]
    assert len(counted) <= policy.max_attempts
    assert len(run.attempts) <= bound_of(policy)
    assert run.waited <= policy.max_wait + 1e-6


@thorough
@given(policies, st.data())
def test_nothing_starts_after_an_answer_and_the_answer_is_the_run_s(
    policy: FallbackPolicy, data: st.DataObject
) -> None:
    run = simulate(policy, data)
    answered = [attempt.n for attempt in run.attempts if attempt.verdict.answered]
    assert run.end is not None
    assert answered in ([], [len(run.attempts)])
    if answered:
        assert (run.end.status, run.end.attempt, run.end.warning) == ("answered", answered[0], None)
    later = decide(policy, run.attempts, {}, run.now + 10**6, windows=WINDOWS)
    assert not answered or later == run.end


@thorough
@given(policies, st.data())
def test_a_retry_is_per_model_and_kind_and_within_its_count(policy: FallbackPolicy, data: st.DataObject) -> None:
    run = simulate(policy, data)
    retries: Counter[tuple[ModelRef | None, FailureKind]] = Counter()
    for step, _, _, before in run.starts[1:]:
        last = run.attempts[before - 1]
        if step.reason.startswith("retry"):
            assert step.model == last.model
            retries[last.model, last.kind] += 1
    assert all(count <= policy.rule(kind).retry for (_, kind), count in retries.items())


@thorough
@given(policies, st.data())
def test_a_model_that_failed_for_good_is_not_tried_again_but_for_its_retries(
    policy: FallbackPolicy, data: st.DataObject
) -> None:
    run = simulate(policy, data)
    for step, _, _, before in run.starts:
        if step.reason.startswith("retry"):
            continue
        assert step.model is not None
        assert not for_good(policy, run.attempts[:before], step.model)


@thorough
@given(policies, st.data())
def test_no_model_starts_while_it_or_its_credential_cools_down(policy: FallbackPolicy, data: st.DataObject) -> None:
    run = simulate(policy, data)
    for step, now, cooldowns, _ in run.starts:
        assert cooling_until(step.model, cooldowns) <= now


@thorough
@given(policies, st.data())
def test_an_attempt_is_carried_only_after_tools_or_a_rejection_and_never_after_a_carried_overflow(
    policy: FallbackPolicy, data: st.DataObject
) -> None:
    run = simulate(policy, data)
    for step, _, _, before in run.starts:
        earlier = run.attempts[:before]
        chain = conversation(earlier)
        overflowed = bool(chain) and earlier[-1].carried and earlier[-1].kind is OVERFLOW
        if step.carry_from is not None:
            source = next(attempt for attempt in chain if attempt.n == step.carry_from)
            assert source.has_session
            assert carries(policy, chain)
            assert not overflowed
        elif chain and carries(policy, chain) and not overflowed:
            assert not any(attempt.has_session for attempt in chain)
        if policy.after_tools == "stop":
            assert not any(attempt.verdict.tool_calls for attempt in earlier)


def carries(policy: FallbackPolicy, chain: list[Attempted]) -> bool:
    rejected = [attempt.kind is REJECTED for attempt in chain]
    if not rejected[-1] and any(attempt.verdict.tool_calls for attempt in chain):
        return policy.after_tools == "carry"
    return any(rejected) and policy.after_rejection == "carry"


@thorough
@given(policies, st.data(), st.text())
def test_every_model_after_a_rejection_is_told_of_it_and_of_nothing_that_the_agent_takes_for_a_command(
    policy: FallbackPolicy, data: st.DataObject, said: str
) -> None:
    run = simulate(policy, data)
    report = CheckReport(outcome=CheckOutcome.REJECTED, output=f"/{said}")
    told = [
        replace(one, verdict=one.verdict.model_copy(update={"check": report})) if one.kind is REJECTED else one
        for one in run.attempts
    ]
    for step, _, _, before in run.starts:
        rejected = [one.n for one in run.attempts[:before] if one.kind is REJECTED]
        assert step.rejected == (rejected[-1] if rejected else None)
        sent = prompt_of(b"do it", policy, step, told[:before]).decode()
        assert sent.strip()[0] != "/"
        assert sent.startswith("do it") == (not step.carry)
        assert (printable(f"/{said}").strip() in sent) == bool(rejected) or said == ""


def cooling_until(model: ModelRef | None, cooldowns: dict[str, float]) -> float:
    assert model is not None
    keys = f"model/{model.name}", f"credential/{model.provider}"
    return max(cooldowns.get(key, 0.0) for key in keys)


def conversation(attempts: list[Attempted]) -> list[Attempted]:
    """The last fresh attempt and those that carried it on."""
    start = max((n for n, attempt in enumerate(attempts) if not attempt.carried), default=0)
    return attempts[start:]


@thorough
@given(policies, st.data())
def test_another_provider_or_a_larger_window_is_chosen_where_one_is_free(
    policy: FallbackPolicy, data: st.DataObject
) -> None:
    run = simulate(policy, data)
    for step, now, cooldowns, before in run.starts[1:]:
        last = run.attempts[before - 1]
        if step.reason.startswith("retry"):
            continue
        tried = {attempt.model for attempt in run.attempts[:before]}
        free = [m for m in policy.models if m not in tried and cooling_until(m, cooldowns) <= now]
        if free:
            assert step.model in free
        move = policy.rule(last.kind).then
        if move is Move.OTHER_PROVIDER:
            fitting = [m for m in free if m.provider != provider(last)]
        elif move is Move.LARGER_WINDOW:
            fitting = [m for m in free if larger(m, last.model)]
        else:
            fitting = free
        if fitting:
            assert step.model == first_after(policy, last.model, fitting)


def provider(attempt: Attempted) -> str:
    assert attempt.model is not None
    return attempt.model.provider


def larger(model: ModelRef, than: ModelRef | None) -> bool:
    assert than is not None
    here, there = WINDOWS.get(than.name), WINDOWS.get(model.name)
    return here is None or there is None or there > here


def first_after(policy: FallbackPolicy, model: ModelRef | None, among: list[ModelRef]) -> ModelRef:
    assert model is not None
    place = policy.models.index(model)
    return next(m for m in (*policy.models[place + 1 :], *policy.models[:place]) if m in among)


@thorough
@given(policies, st.data())
def test_with_no_untried_model_free_the_first_tried_one_in_the_order_comes_again(
    policy: FallbackPolicy, data: st.DataObject
) -> None:
    run = simulate(policy, data)
    for step, _, cooldowns, before in run.starts:
        tried = {attempt.model for attempt in run.attempts[:before]}
        if step.model in tried and not step.reason.startswith("retry"):
            now = next(at for start, at, _, n in run.starts if n == before and start is step)
            possible = [m for m in policy.models if m in tried and not for_good(policy, run.attempts[:before], m)]
            assert step.model == next(m for m in possible if cooling_until(m, cooldowns) <= now)


def for_good(policy: FallbackPolicy, attempts: list[Attempted], model: ModelRef) -> bool:
    mine = [attempt for attempt in attempts if attempt.model == model]
    interruptions = sum(attempt.kind is INTERRUPTED for attempt in mine)
    failed = any(attempt.kind is not INTERRUPTED and not passing(policy, attempt) for attempt in mine)
    return failed or interruptions > policy.rule(INTERRUPTED).retry


def passing(policy: FallbackPolicy, attempt: Attempted) -> bool:
    if attempt.kind is FailureKind.QUOTA:
        at = attempt.verdict.retry_at
        return at is not None and at <= attempt.ended_at + policy.max_wait
    return attempt.kind in (FailureKind.RATE_LIMIT, FailureKind.PROVIDER_UNAVAILABLE, FailureKind.NETWORK)


@thorough
@given(policies, st.data())
def test_a_failed_run_has_its_last_kind_or_its_budget_s_and_names_every_model_with_its_kinds(
    policy: FallbackPolicy, data: st.DataObject
) -> None:
    run = simulate(policy, data)
    assert run.end is not None
    if run.end.status == "failed":
        by_budget = "budget" in run.end.message and "used up" in run.end.message
        assert run.end.kind is (FailureKind.BUDGET if by_budget else run.attempts[-1].kind)
        assert run.end.attempt is None
        for attempt in run.attempts:
            told = next(part for part in run.end.message.split("; ") if part.startswith(f"{attempt.model}: "))
            assert attempt.kind in told
        assert all(str(model) in run.end.message for model in policy.models)


@thorough
@given(policies, st.data())
def test_accepting_takes_only_an_answer_that_is_there_and_warns(policy: FallbackPolicy, data: st.DataObject) -> None:
    run = simulate(policy, data)
    for attempt in run.attempts[:-1]:
        assert not acceptable(policy, attempt)
    last = run.attempts[-1]
    if not last.verdict.answered:
        assert run.end is not None
        assert (run.end.status == "answered") == acceptable(policy, last)
        if run.end.status == "answered":
            assert run.end.warning is not None
            assert last.kind in run.end.warning


def acceptable(policy: FallbackPolicy, attempt: Attempted) -> bool:
    accept = policy.rule(attempt.kind).accept
    return bool(attempt.verdict.answer) and (accept == "any" or (accept == "complete" and attempt.verdict.complete))


@thorough
@given(policies, st.data())
def test_after_a_token_budget_is_used_up_nothing_starts(policy: FallbackPolicy, data: st.DataObject) -> None:
    run = simulate(policy, data)
    for _, _, _, before in run.starts:
        used = sum(attempt.verdict.usage.tokens for attempt in run.attempts[:before])
        assert not policy.limits.tokens or used < policy.limits.tokens


@thorough
@given(policies, st.data())
def test_the_same_question_has_the_same_answer_and_a_policy_reads_back(
    policy: FallbackPolicy, data: st.DataObject
) -> None:
    run = simulate(policy, data)
    again = FallbackPolicy.model_validate(policy.model_dump(mode="json"))
    assert again == policy
    assert decide(again, run.attempts, run.cooldowns, run.now, windows=WINDOWS, waited=run.waited) == run.end
