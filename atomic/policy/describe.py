"""What a policy does, kind by kind: for people to read before they rely on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from atomic.failures import FailureKind
from atomic.policy.defaults import DEFAULTS
from atomic.policy.facts import FallbackPolicy

_PASSING = {"yes": "yes", "no": "no", "near": "when the provider names a time within max_wait"}


@dataclass(frozen=True, slots=True)
class KindRow:
    """One line of `policy show`. ``source`` tells whether the action is the policy's own; ``why`` is the reason of
    the default, empty where the policy has its own rule."""

    kind: FailureKind
    passing: str
    action: str
    cools: str
    source: Literal["default", "policy"]
    why: str


def describe(policy: FallbackPolicy) -> tuple[KindRow, ...]:
    """One row for each kind of failure, in the order of :class:`FailureKind`."""
    return tuple(_row(policy, kind) for kind in FailureKind)


def _row(policy: FallbackPolicy, kind: FailureKind) -> KindRow:
    default = DEFAULTS[kind]
    own = kind in policy.on
    action = str(policy.rule(kind))
    if kind is FailureKind.INTERRUPTED:
        action += " (not counted as an attempt)"
    return KindRow(
        kind=kind,
        passing="–" if kind is FailureKind.INTERRUPTED else _PASSING[default.passing],
        action=action,
        cools=_cools(policy, kind),
        source="policy" if own else "default",
        why="" if own else default.why,
    )


def _cools(policy: FallbackPolicy, kind: FailureKind) -> str:
    default = DEFAULTS[kind]
    seconds = policy.cooldown.get(kind, default.seconds)
    if not seconds:
        return "–"
    text = f"the {default.scope or 'model'}, {seconds:g} s"
    return text + ", once confirmed by a request" if kind is FailureKind.AUTH else text
