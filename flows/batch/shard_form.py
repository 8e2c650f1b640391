"""How a shard's items are carried out, as the owner of the edition leaves it in the database for the worker that takes
the shard up. Programs' paths, keys and variables are the worker's own: none is handed on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from atomic.checks import require_sound
from atomic.errors import UsageError
from atomic.policy import FallbackPolicy
from atomic.record.files import encode
from atomic.runner import open_store, prepare
from atomic.settings import Settings
from flows.batch.across import SharedLimit
from flows.batch.budget import Budget
from flows.batch.facts import Asked, BatchRequest
from flows.batch.items import flags_of
from flows.batch.pool import Share
from flows.inputs import Checked, Choice


def form_of(request: BatchRequest, share: Share, *, shards: int) -> str:
    """The form of a shard with this share, of a batch that has so many ``shards`` at a time."""
    numbers: dict[str, int] = {}
    choices = []
    for choice, policy in request.policies.items():
        text = policy.model_dump_json()
        at = numbers.setdefault(text, len(numbers))
        choices.append([choice.policy, choice.models, at])
    asked, form = request.asked, request.form
    said = {
        "agent": request.agent,
        "flags": _flags(request),
        "policies": [orjson.loads(text) for text in numbers],
        "choices": choices,
        "folders": [str(folder) for folder in request.folders],
        "workspace": request.workspace,
        "slash": request.slash,
        "shared": form.shared,
        "tags": form.tags,
        "metadata": dict(form.metadata),
        "cost_usd": request.budget.cost_usd,
        "tokens": request.budget.tokens,
        "on_budget": asked.on_budget,
        "stop_after": asked.stop_after,
        "deadline": asked.deadline,
        "track": asked.track,
        "limit_across": None if asked.limit_across is None else str(asked.limit_across),
        "concurrency": share.sessions,
        "shares": {provider: most // shards for provider, most in request.settings.batch.shares.items()},
    }
    return encode(said).decode()


def request_of(form: str, *, batch: str, cwd: Path, most: int, settings: Settings) -> BatchRequest:
    """The batch as the worker carries its shard out, ``most`` items of it. Raises UsageError: what
    :func:`atomic.prepare` does, and where this worker calls the agent with other flags."""
    said: Mapping[str, Any] = orjson.loads(form)
    policies = [FallbackPolicy.model_validate(one) for one in said["policies"]]
    run = prepare(
        "-",
        policy=policies[0],
        agent=said["agent"],
        cwd=cwd,
        tags=said["tags"],
        metadata=said["metadata"],
        workspace="shared",  # it is no run itself
        shared=said["shared"],
        settings=settings,
    )
    for policy in policies:
        require_sound(policy, run.cwd)
    limit = said["limit_across"]
    own = settings.batch.model_copy(update={"shares": said["shares"]})
    request = BatchRequest(
        name=batch,
        checked=_UNREAD,
        folders=tuple(map(Path, said["folders"])),
        slash=said["slash"],
        output=cwd,
        form=run,
        policies={Choice(name, tuple(models)): policies[at] for name, models, at in said["choices"]},
        budget=Budget(said["cost_usd"], said["tokens"]),
        asked=Asked(
            limit=most,
            on_budget=said["on_budget"],
            deadline=said["deadline"],
            stop_after=said["stop_after"],
            concurrency=said["concurrency"],
            track=said["track"],
            limit_across=None if limit is None else SharedLimit.parse(limit),
        ),
        settings=settings.model_copy(update={"batch": own}),
        store=open_store(settings),
        workspace=said["workspace"],
    )
    if _flags(request) != said["flags"]:
        raise UsageError(
            "this worker calls the agent with other flags than the batch was begun with, which is another question",
            hint="let [agent] args and approve be the same on all machines",
            key="agent.args",
        )
    return replace(request, agent=said["agent"])


def _flags(request: BatchRequest) -> str:
    """The agent's flags as a digest: some are secret."""
    return hashlib.sha256(encode(flags_of(request.form))).hexdigest()


_UNREAD = Checked(  # the owner of the edition has read and checked the input
    path=Path(),
    format="",
    count=0,
    wrong=0,
    problems=(),
    fingerprint=None,
    template=None,
    choices={},
    places={},
    lines={},
    ignored={},
    files=0,
)
