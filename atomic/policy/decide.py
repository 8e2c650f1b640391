"""The next step of a run, from the attempts so far: pure, and the only place where it is decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from atomic.failures import FailureKind
from atomic.policy.candidates import Candidate, Candidates, failures
from atomic.policy.cooldowns import credential_key, model_key
from atomic.policy.defaults import DEFAULTS
from atomic.policy.endings import DEFAULT_MODEL, accepted, answered, failed, name_of
from atomic.policy.facts import Attempted, End, FallbackPolicy, Start, Step, Wait
from atomic.policy.rules import Move, Rule


def decide(
    policy: FallbackPolicy,
    attempts: Sequence[Attempted],
    cooldowns: Mapping[str, float],
    now: float,
    *,
    windows: Mapping[str, int] | None = None,
    waited: float = 0,
) -> Step:
    """What to do now: start an attempt, wait until a time, or end the run.

    ``cooldowns`` maps the keys of :mod:`atomic.policy.cooldowns` to the time (seconds since the epoch) until which
    nothing is to be started with them; ``windows`` maps `provider/id` to tokens; ``waited`` is how many seconds the
    run has waited so far. After an answer nothing starts. Attempts are bounded by ``max_attempts``, to which those
    that were interrupted do not count: of these each model has its rule's retries and one. Waits are bounded by
    ``max_wait`` in all.
    """
    candidates = Candidates.of(policy, attempts, cooldowns, now, windows or {})
    patience = max(0.0, policy.max_wait - waited)
    if not attempts:
        return _begin(policy, candidates, patience)
    last = attempts[-1]
    end = _end(policy, attempts)
    if end is not None:
        return end
    rule = policy.rule(last.kind)
    told: dict[str, int | None] = {"carry_from": carry_source(policy, attempts), "rejected": rejected(attempts)}
    at = _retry_time(rule, attempts)
    if at is not None and at - now <= patience and candidates.free_at(last.model, at):
        why = f"retry {failures(attempts, last)} of {rule.retry} after {last.kind}"
        return Start(last.model, why, **told) if at <= now else Wait(at, why)
    if rule.then is None or rule.then is Move.STOP:
        return failed(policy, attempts, f"the policy stops on {last.kind}")
    chosen = candidates.choose(rule.then, last.model)
    if chosen is not None:
        return Start(chosen, f"{_moved(rule.then, last.model, chosen, windows or {})} after {last.kind}", **told)
    return _wait(policy, attempts, candidates, patience)


def cools(
    policy: FallbackPolicy, attempts: Sequence[Attempted], *, key_is_bad: bool = False
) -> tuple[str, float] | None:
    """What the last attempt's failure puts on cooldown, and until when: `(key, seconds since the epoch)`.

    None while a retry of it is due and the provider named no time, and for kinds that cool nothing. ``key_is_bad``:
    a request of one's own has confirmed that the credential is refused, without which `auth` cools nothing.
    """
    last = attempts[-1]
    default = DEFAULTS[last.kind]
    cooled = default.scope is not None or last.kind in policy.cooldown
    if last.model is None or last.verdict.answered or not cooled:
        return None
    if last.kind is FailureKind.AUTH and not key_is_bad:
        return None
    told = last.verdict.retry_at
    if told is not None and told > last.ended_at:
        until = told
    elif _end(policy, attempts) is None and _retry_time(policy.rule(last.kind), attempts) is not None:
        return None
    else:
        until = last.ended_at + policy.cooldown.get(last.kind, default.seconds)
    if until <= last.ended_at:
        return None
    return (credential_key(last.model) if default.scope == "credential" else model_key(last.model)), until


def carry_source(policy: FallbackPolicy, attempts: Sequence[Attempted]) -> int | None:
    """The number of the attempt whose conversation the next one should carry on; None when it should start fresh.

    Tools must have run since the last fresh start, or a check must have rejected an answer, and a session file must be
    there; what a carried attempt overflowed with is not carried again.
    """
    last = attempts[-1]
    chain = _chain(attempts)
    if not _carries(policy, chain) or (last.kind is FailureKind.OVERFLOW and last.carried):
        return None
    return next((attempt.n for attempt in reversed(chain) if attempt.has_session), None)


def rejected(attempts: Sequence[Attempted]) -> int | None:
    """The number of the attempt whose answer a check rejected last."""
    return next((one.n for one in reversed(attempts) if one.kind is FailureKind.REJECTED), None)


def _carries(policy: FallbackPolicy, chain: Sequence[Attempted]) -> bool:
    """Whether the policy wants this conversation to go on."""
    if chain[-1].kind is FailureKind.REJECTED:
        return policy.after_rejection == "carry"
    if _acted(chain):
        return policy.after_tools == "carry"
    return policy.after_rejection == "carry" and rejected(chain) is not None


def _begin(policy: FallbackPolicy, candidates: Candidates, patience: float) -> Step:
    if not policy.models:
        return Start(None, DEFAULT_MODEL)
    first = candidates.choose(Move.NEXT, None)
    if first is None:
        return _wait(policy, (), candidates, patience)
    return Start(first, "the first model" if first == policy.models[0] else "the first model that is not cooling down")


def _wait(policy: FallbackPolicy, attempts: Sequence[Attempted], candidates: Candidates, patience: float) -> Step:
    soonest = candidates.first_free()
    if soonest is None:
        return failed(policy, attempts, "no model is left to try")
    model, until = soonest
    if until - candidates.now > patience:
        return failed(
            policy,
            attempts,
            f"every model left is cooling down, the first, {name_of(model)}, for {until - candidates.now:.0f} s more; "
            f"max_wait leaves {patience:.0f} s",
        )
    return Wait(until, f"every model left is cooling down; {name_of(model)} is free first")


def _end(policy: FallbackPolicy, attempts: Sequence[Attempted]) -> End | None:
    """The end that these attempts mean, whatever the time is."""
    whole = next((attempt for attempt in attempts if attempt.verdict.answered), None)
    if whole is not None:
        return answered(whole)
    last = attempts[-1]
    if _acceptable(policy.rule(last.kind), last):
        return accepted(last)
    counted = sum(attempt.kind is not FailureKind.INTERRUPTED for attempt in attempts)
    if not policy.models and counted:
        return failed(policy, attempts, "no other model was named: give two or more to fall back")
    if counted >= policy.max_attempts:
        return failed(policy, attempts, f"max_attempts = {policy.max_attempts}")
    if policy.after_tools == "stop" and _acted(_chain(attempts)):
        return failed(policy, attempts, "tools had run, and after_tools = stop")
    spent = _spent(policy, attempts)
    return None if spent is None else failed(policy, attempts, spent, FailureKind.BUDGET)


def _moved(move: Move, last: Candidate, chosen: Candidate, windows: Mapping[str, int]) -> str:
    """What the chosen model is to the last one, as far as the rule asked for it."""
    if chosen == last or chosen is None or last is None:
        return "the same model again"
    if move is Move.OTHER_PROVIDER and chosen.provider != last.provider:
        return "another provider's model"
    if move is Move.LARGER_WINDOW and windows.get(chosen.name, 0) > windows.get(last.name, 0) > 0:
        return "a model with a larger window"
    return "the next model"


def _acceptable(rule: Rule, last: Attempted) -> bool:
    if not last.verdict.answer or rule.accept == "never":
        return False
    return rule.accept == "any" or last.verdict.complete


def _spent(policy: FallbackPolicy, attempts: Sequence[Attempted]) -> str | None:
    """Which budget of the run is used up, in words. Costs that nobody knows count as nothing: a lower bound."""
    tokens = sum(attempt.verdict.usage.tokens for attempt in attempts)
    cost = sum(attempt.verdict.cost_usd or 0 for attempt in attempts)
    if 0 < policy.limits.tokens <= tokens:
        return f"the run's budget of {policy.limits.tokens} tokens is used up"
    if 0 < policy.limits.cost_usd <= cost:
        return f"the run's budget of ${policy.limits.cost_usd:g} is used up"
    return None


def _retry_time(rule: Rule, attempts: Sequence[Attempted]) -> float | None:
    """When the last attempt may be tried again with the same model; None when its retries are used up."""
    last = attempts[-1]
    if failures(attempts, last) > rule.retry:
        return None
    return max(last.ended_at + rule.delay, last.verdict.retry_at or 0)


def _chain(attempts: Sequence[Attempted]) -> Sequence[Attempted]:
    """The attempts of one conversation: the last fresh start and those that carried it on."""
    start = len(attempts) - 1
    while start > 0 and attempts[start].carried:
        start -= 1
    return attempts[start:]


def _acted(chain: Sequence[Attempted]) -> bool:
    return any(attempt.verdict.tool_calls for attempt in chain)
