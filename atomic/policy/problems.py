"""Turning what pydantic says about a policy into a PolicyError that names the key and the nearest right one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from atomic.errors import PolicyError
from atomic.failures import FailureKind
from atomic.policy.rules import ACTIONS, Move, Rule

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_KINDS = tuple(FailureKind)


def policy_problem(error: ValidationError, *, keys: Iterable[str], limits: Iterable[str]) -> PolicyError:
    """The first problem of a policy, as people should read it, with the others as ``more``. ``keys`` and ``limits`` are
    the names that a policy and its limits know."""
    found = [_problem(one, tuple(keys), tuple(limits)) for one in error.errors(include_url=False)]
    found = list({one.message: one for one in found}.values())  # a rule that is neither word nor table is wrong twice
    return with_more(found)


def with_more(problems: Sequence[PolicyError]) -> PolicyError:
    """The first of some errors, which carries the others as ``more``."""
    first, *more = problems
    return PolicyError(first.message, hint=first.hint, **{**first.fields, "more": tuple(more)}) if more else first


def _problem(first: ErrorDetails, keys: tuple[str, ...], limits: tuple[str, ...]) -> PolicyError:
    place = [str(part) for part in first["loc"] if part != "[key]"]
    value = first["input"]
    if first["type"] == "extra_forbidden":
        known = {1: keys, 2: limits}.get(len(place), tuple(Rule.model_fields))
        return _unknown("key", place[-1], known, place)
    if "[key]" in first["loc"]:
        return _unknown("kind", place[-1], _KINDS, place)
    if place[:1] == ["on"] and place[-1] == "then":
        return _unknown("move", value, tuple(Move), place)
    if place[:1] == ["on"] and len(place) == 2:
        return _unknown("action", value, ACTIONS, place)
    return PolicyError(f"{'.'.join(place) or 'a policy'} = {_shown(value)}: {_reason(first)}", key=".".join(place))


def unknown_policy(name: str, known: Iterable[str], *, extended: bool = False) -> PolicyError:
    """The error for a policy that is asked for, or extended, by a name nobody defined."""
    return _unknown("policy", name, tuple(known), ["extends"] if extended else [])


def _unknown(what: str, value: Any, known: tuple[str, ...], place: list[str]) -> PolicyError:
    near = get_close_matches(str(value), known, n=1, cutoff=0.5)
    nearest = near[0] if near else None
    where = ".".join(place)
    shown = f"unknown {what} {_shown(value)}" + (f" in {where}" if where and str(value) != where else "")
    return PolicyError(
        shown + (f"; did you mean {str(nearest)!r}?" if nearest else ""),
        hint=f"Known: {', '.join(known)}." if known else None,
        key=where or None,
        nearest=str(nearest) if nearest else None,
    )


def _reason(problem: Any) -> str:
    if problem["loc"][:1] == ("models",) and problem["type"] != "value_error":
        return "give a list of names, each provider/id"
    text = str(problem["msg"]).removeprefix("Value error, ")
    return text[:1].lower() + text[1:]


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"
