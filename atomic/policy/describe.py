"""What a policy does, kind by kind: for people to read before they rely on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from atomic.failures import FailureKind
from atomic.policy.defaults import DEFAULTS
from atomic.policy.facts import FallbackPolicy

_NOTES = {
    FailureKind.INTERRUPTED: "not counted as an attempt",
    FailureKind.AUTH: "cools once a request of our own has confirmed that the key is refused",
}


@dataclass(frozen=True, slots=True)
class KindRow:
    """One line of `policy show`. ``passing``: whether the failure passes by waiting; ``near``: when the provider names
    a time within `max_wait`. ``cools``: the model, or all that is behind its key, and for how long. ``source`` tells
    whether the action is the policy's own; ``why`` is the reason of the default, empty where the policy has its own
    rule; ``note`` is what else is to be known of the kind."""

    kind: FailureKind
    passing: str
    action: str
    cools: str
    source: Literal["default", "policy"]
    why: str
    note: str = ""


def describe(policy: FallbackPolicy) -> tuple[KindRow, ...]:
    """One row for each kind of failure, in the order of :class:`FailureKind`."""
    return tuple(_row(policy, kind) for kind in FailureKind)


def _row(policy: FallbackPolicy, kind: FailureKind) -> KindRow:
    default = DEFAULTS[kind]
    own = kind in policy.on
    return KindRow(
        kind=kind,
        passing="–" if kind is FailureKind.INTERRUPTED else default.passing,
        action=str(policy.rule(kind)),
        cools=_cools(policy, kind),
        source="policy" if own else "default",
        why="" if own else default.why,
        note=_NOTES.get(kind, ""),
    )


def _cools(policy: FallbackPolicy, kind: FailureKind) -> str:
    default = DEFAULTS[kind]
    seconds = policy.cooldown.get(kind, default.seconds)
    if not seconds:
        return "–"
    return f"{'key' if default.scope == 'credential' else 'model'} {seconds:g} s"
