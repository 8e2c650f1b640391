"""Policies: the models in order, what to do on each kind of failure, and the next step of a run. No I/O."""

from __future__ import annotations

from atomic.policy.candidates import passes
from atomic.policy.cooldowns import cooling_until, credential_key, model_key
from atomic.policy.decide import carry_source, cools, decide
from atomic.policy.defaults import DEFAULTS, KindDefault
from atomic.policy.describe import KindRow, describe
from atomic.policy.facts import Attempted, End, FallbackPolicy, Limits, Start, Step, Wait
from atomic.policy.resolve import resolve_policies
from atomic.policy.rules import Move, Rule

__all__ = [
    "DEFAULTS",
    "Attempted",
    "End",
    "FallbackPolicy",
    "KindDefault",
    "KindRow",
    "Limits",
    "Move",
    "Rule",
    "Start",
    "Step",
    "Wait",
    "carry_source",
    "cooling_until",
    "cools",
    "credential_key",
    "decide",
    "describe",
    "model_key",
    "passes",
    "resolve_policies",
]
