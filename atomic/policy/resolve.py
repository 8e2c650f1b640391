"""Policies by name: `extends`, resolved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from atomic.errors import PolicyError
from atomic.policy.facts import FallbackPolicy
from atomic.policy.problems import unknown_policy, with_more

_TABLES = ("on", "cooldown", "limits")  # merged key by key; every other key replaces the inherited one


def resolve_policies(mapping: Mapping[str, Mapping[str, Any] | FallbackPolicy]) -> dict[str, FallbackPolicy]:
    """Read the policies of a configuration, each with what it extends laid beneath it.

    Raises PolicyError (with ``policy``, ``key``, ``nearest``) for the first thing that cannot be followed: an unknown
    key, kind, action or base, or policies that extend each other in a circle. ``more`` are the others, of all policies.
    """
    problems: list[PolicyError] = []
    policies: dict[str, FallbackPolicy] = {}
    for name, own in mapping.items():
        if isinstance(own, FallbackPolicy):
            policies[name] = own
            continue
        try:
            policies[name] = FallbackPolicy.model_validate(_laid_over(name, mapping, ()))
        except PolicyError as error:
            problems += [_in_policy(one, name) for one in (error, *error.fields.get("more", ()))]
    if problems:
        raise with_more(problems)
    return policies


def _laid_over(
    name: str, mapping: Mapping[str, Mapping[str, Any] | FallbackPolicy], above: tuple[str, ...]
) -> dict[str, Any]:
    if name in above:
        circle = " → ".join((*above[above.index(name) :], name))
        raise PolicyError(f"policies extend each other in a circle: {circle}", key="extends")
    found = mapping[name]
    if isinstance(found, FallbackPolicy):
        return found.model_dump(mode="json")
    own = dict(found)
    base = own.pop("extends", None)
    if base is None:
        return own
    if base not in mapping:
        raise unknown_policy(str(base), mapping, extended=True)
    merged = _laid_over(base, mapping, (*above, name))
    for key, value in own.items():
        under = merged.get(key)
        both = key in _TABLES and isinstance(under, Mapping) and isinstance(value, Mapping)
        merged[key] = {**under, **value} if both and under is not None else value
    return merged


def _in_policy(error: PolicyError, name: str) -> PolicyError:
    fields = {key: value for key, value in error.fields.items() if key != "more"} | {"policy": name}
    return PolicyError(f"policy {name!r}: {error.message}", hint=error.hint, **fields)
