"""Before the first session: each provider of the policies is asked once, and what cannot answer is passed over."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from atomic.errors import PolicyError
from atomic.models import ModelRef
from atomic.policy import FallbackPolicy
from atomic.providers import Answer, Credentials, Reach, ask_all
from flows.batch.facts import BatchRequest
from flows.inputs import Choice

DEAD_KEYS = frozenset({Reach.KEY_REFUSED, Reach.NO_KEY})


@dataclass(frozen=True, slots=True)
class Findings:
    """What asking came to. ``dead`` are models that are not tried, ``doubtful`` those not tried where a policy has
    another; ``said`` is for people."""

    dead: frozenset[ModelRef] = frozenset()
    doubtful: frozenset[ModelRef] = frozenset()
    said: tuple[str, ...] = ()


async def preflight(request: BatchRequest) -> tuple[BatchRequest, tuple[str, ...]]:
    """The batch without the models that cannot answer, and what a person should know of it. Raises PolicyError where
    a policy has none left."""
    agent = request.form.agent
    models = list(dict.fromkeys(model for policy in request.policies.values() for model in policy.models))
    if agent.scripted or not models:
        return request, ()
    credentials = await asyncio.to_thread(Credentials.of, agent)
    providers = dict.fromkeys(model.provider for model in models)
    findings = judge(models, await ask_all(credentials.access(name) for name in providers))
    return replace(request, policies=without(request.policies, findings)), findings.said


def judge(models: Iterable[ModelRef], answers: Sequence[Answer]) -> Findings:
    """What the providers' answers mean for these models. Pure.

    A refused or missing key is certain. A model that is not listed is not: some providers take names that they do not
    list. A network that is down is said once, and blocks nothing.
    """
    by_name = {answer.provider: answer for answer in answers}
    dead, doubtful, said = set(), set(), []
    for answer in answers:
        if answer.reach in DEAD_KEYS:
            source = f" of {answer.source}" if answer.source else ""
            why = f"refuses the key{source}" if answer.reach is Reach.KEY_REFUSED else "has no key"
            said.append(f"{answer.provider} {why} ({answer.said}): its models are passed over")
    for model in models:
        answer = by_name[model.provider]
        if answer.reach in DEAD_KEYS:
            dead.add(model)
        elif answer.lists(model.id) is False:
            doubtful.add(model)
            said.append(f"{model.provider} does not list {model.id}: it is passed over where there is another model")
    gone = [answer for answer in answers if answer.reach is Reach.UNREACHABLE]
    if gone:
        names = ", ".join(answer.provider for answer in gone)
        said.append(f"{names} cannot be reached now ({gone[0].said}): the batch begins all the same")
    return Findings(frozenset(dead), frozenset(doubtful), tuple(said))


def without(policies: Mapping[Choice, FallbackPolicy], findings: Findings) -> dict[Choice, FallbackPolicy]:
    """The policies without what cannot answer. Pure. Raises PolicyError where one has no model left."""
    changed = {id(policy): _without(policy, findings) for policy in policies.values()}
    return {key: changed[id(policy)] for key, policy in policies.items()}


def _without(policy: FallbackPolicy, findings: Findings) -> FallbackPolicy:
    alive = tuple(model for model in policy.models if model not in findings.dead)
    if policy.models and not alive:
        names = ", ".join(map(str, policy.models))
        raise PolicyError(
            f"no model of this batch's policy can be used: {names}",
            hint="\n".join(findings.said),
            models=[str(model) for model in policy.models],
        )
    listed = tuple(model for model in alive if model not in findings.doubtful)
    return policy if (left := listed or alive) == policy.models else policy.model_copy(update={"models": left})
