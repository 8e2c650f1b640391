"""What a claimed item does before its first session: begin, be parked, or be given up. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from atomic.policy import FallbackPolicy, Step, Wait, decide


def first_step(policy: FallbackPolicy, cooldowns: Mapping[str, float], now: float, wait_until: float) -> Step:
    """The first step of a run with this policy: Start where a model of it is free, Wait where all cool down, End where
    they do so beyond ``wait_until``. Times are seconds since the epoch."""
    return decide(policy.waiting(wait_until - now), (), cooldowns, now)


def all_wait(
    policies: Iterable[FallbackPolicy], cooldowns: Mapping[str, float], now: float, wait_until: float
) -> float | None:
    """Until when no item of these policies has anything to begin with; None where one has, or is to be given up."""
    until = float("inf")
    for policy in policies:
        step = first_step(policy, cooldowns, now, wait_until)
        if not isinstance(step, Wait):
            return None
        until = min(until, step.until)
    return until
