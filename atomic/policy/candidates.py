"""Which models a run can still go to, and which of them a move leads to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from atomic.failures import FailureKind
from atomic.models.ref import ModelRef
from atomic.policy.cooldowns import cooling_until
from atomic.policy.defaults import DEFAULTS
from atomic.policy.facts import Attempted, FallbackPolicy
from atomic.policy.rules import Move

Candidate = ModelRef | None  # None: the agent's own default model


@dataclass(frozen=True, slots=True)
class Candidates:
    """The models that may be tried, in the policy's order. ``until``: when each is free, now at the earliest."""

    order: tuple[Candidate, ...]  # every model of the policy
    left: tuple[Candidate, ...]  # those that did not fail for a kind that does not pass
    tried: frozenset[Candidate]
    until: Mapping[Candidate, float]
    windows: Mapping[str, int]
    now: float

    @classmethod
    def of(
        cls,
        policy: FallbackPolicy,
        attempts: Sequence[Attempted],
        cooldowns: Mapping[str, float],
        now: float,
        windows: Mapping[str, int],
    ) -> Candidates:
        """The candidates after these attempts."""
        order: tuple[Candidate, ...] = policy.models or (None,)
        out = _excluded(policy, attempts)
        return cls(
            order=order,
            left=tuple(model for model in order if model not in out),
            tried=frozenset(attempt.model for attempt in attempts),
            until={model: max(now, cooling_until(model, cooldowns)) for model in order},
            windows=windows,
            now=now,
        )

    def choose(self, move: Move, current: Candidate) -> Candidate:
        """The model a move leads to from the current one; None when every candidate is cooling, or none is left.

        Only to be asked with a policy that names models: there None is no candidate.
        """
        around = self._after(current)
        untried = [model for model in around if model not in self.tried and self._free(model)]
        if move is Move.OTHER_PROVIDER:
            untried.sort(key=lambda model: _provider(model) == _provider(current))
        elif move is Move.LARGER_WINDOW:
            untried.sort(key=lambda model: not self._larger(model, current))
        if untried:
            return untried[0]
        return next((model for model in self.left if model in self.tried and self._free(model)), None)

    def first_free(self) -> tuple[Candidate, float] | None:
        """The candidate whose cooldown ends soonest, and when; None when none is left."""
        if not self.left:
            return None
        soonest = min(self.left, key=lambda model: self.until[model])
        return soonest, self.until[soonest]

    def free_at(self, model: Candidate, at: float) -> bool:
        """Whether a model does not cool at a time."""
        return self.until[model] <= max(at, self.now)

    def _free(self, model: Candidate) -> bool:
        return self.until[model] <= self.now

    def _after(self, current: Candidate) -> tuple[Candidate, ...]:
        """What is left, from the one after the current model on; those before it, once passed over, come last."""
        place = self.order.index(current) + 1 if current in self.order else 0
        around = self.order[place:] + self.order[:place]
        return tuple(model for model in around if model in self.left)

    def _larger(self, model: Candidate, current: Candidate) -> bool:
        here, there = self._window(current), self._window(model)
        return here is None or there is None or there > here

    def _window(self, model: Candidate) -> int | None:
        return None if model is None else self.windows.get(model.name)


def passes(policy: FallbackPolicy, attempt: Attempted) -> bool:
    """Whether the attempt's failure goes away by waiting: `quota` only when it does so within ``max_wait``."""
    passing = DEFAULTS[attempt.kind].passing
    if passing == "near":
        at = attempt.verdict.retry_at
        return at is not None and at - attempt.ended_at <= policy.max_wait
    return passing == "yes"


def _excluded(policy: FallbackPolicy, attempts: Sequence[Attempted]) -> set[Candidate]:
    """Models that failed for a kind that does not pass. An interruption says nothing about the model, until there
    were more than its rule allows."""
    retries = policy.rule(FailureKind.INTERRUPTED).retry
    out: set[Candidate] = set()
    for attempt in attempts:
        if attempt.kind is not FailureKind.INTERRUPTED:
            if not passes(policy, attempt):
                out.add(attempt.model)
        elif failures(attempts, attempt) > retries:
            out.add(attempt.model)
    return out


def failures(attempts: Sequence[Attempted], like: Attempted) -> int:
    """How many of the attempts failed with the model and for the kind of this one."""
    return sum(attempt.model == like.model and attempt.kind is like.kind for attempt in attempts)


def _provider(model: Candidate) -> str | None:
    return None if model is None else model.provider
