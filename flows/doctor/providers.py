"""The providers of the policy: are they there, do they take the key, do they have the models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from atomic.models import ModelRef
from atomic.providers import Access, Answer, Reach
from flows.doctor.findings import Finding, fail, ok, warn

ABOUT = "providers"
ALONE = 1  # one provider that cannot be reached may be down itself; all of several are the network's fault


def judge_providers(models: Sequence[ModelRef], asked: Sequence[tuple[Access, Answer]]) -> list[Finding]:
    """What the answers of the providers mean for these models. A network that is down is said once."""
    gone = [(access, answer) for access, answer in asked if answer.reach is Reach.UNREACHABLE]
    rest = [(access, answer) for access, answer in asked if answer.reach is not Reach.UNREACHABLE]
    findings = [finding for access, answer in rest for finding in _judge(models, access, answer)]
    if len(gone) > ALONE and not any(answer.seconds is not None for _, answer in rest):
        names = ", ".join(answer.provider for _, answer in gone)
        what = f"none of {names} can be reached: the network seems to be down ({gone[0][1].said})"
        return [*findings, fail(ABOUT, what, "look at the network, and at HTTPS_PROXY where one is needed")]
    return [*findings, *(_judge_gone(access, answer) for access, answer in gone)]


def _judge_gone(access: Access, answer: Answer) -> Finding:
    to_do = f"see whether {access.host or 'its base URL'} is up, and right in the agent's models.json"
    return fail(ABOUT, f"{answer.provider}: {answer.said}", to_do)


def _judge(models: Iterable[ModelRef], access: Access, answer: Answer) -> list[Finding]:
    name, source = answer.provider, answer.source
    if answer.reach is Reach.KEY_REFUSED:
        to_do = f"put a good key into {source}" if source else "give it a key"
        return [fail(ABOUT, f"{name} refuses the key of {source or 'nobody'}: {answer.said}", to_do)]
    if answer.reach is Reach.NO_KEY:
        return [fail(ABOUT, f"{name}: {answer.said}", "set it, or log in with the agent: /login")]
    if answer.reach is Reach.UNKNOWN:
        if access.state == "untold":
            return [ok(ABOUT, f"{name} is not asked: {answer.said}")]
        to_do = "see whether the agent can use it (an extension may bring it): run it with that model by hand"
        return [warn(ABOUT, f"{name}: {answer.said}", to_do)]
    key = f", and takes the key of {source}" if source and not access.open_list else ""
    there = f"{name} is there{key}{f' ({answer.said})' if answer.said else ''}"
    return [ok(ABOUT, there), *_missing(models, answer)]


def _missing(models: Iterable[ModelRef], answer: Answer) -> list[Finding]:
    return [
        warn(
            ABOUT,
            f"{model.provider} does not list {model.id}",
            "see `atomic-flows models` for its name; some providers take names that they do not list",
        )
        for model in models
        if model.provider == answer.provider and answer.lists(model.id) is False
    ]
