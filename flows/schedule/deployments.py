"""Schedules as Prefect deployments."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from prefect.client.orchestration import PrefectClient
from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterTags
from prefect.deployments.runner import RunnerDeployment
from prefect.exceptions import ObjectNotFound
from prefect.types.entrypoint import EntrypointType

from atomic.record.files import encode
from flows.schedule.facts import BatchJob
from flows.schedule.flow import scheduled_batch, scheduled_prompt
from flows.schedule.reading import Kept

TAG = "atomic-flows"
_NAMES = {"text": "prompt", "file": "prompt_file"}  # of a prompt's keys as the flow's parameters
_VERSION = 12  # characters of the digest that tells whether a schedule has changed in its file


@dataclass(frozen=True, slots=True)
class Registered:
    """A schedule that Prefect knows. ``full_name`` is what `prefect deployment run` takes; ``changed``: somebody may
    have changed it in Prefect since it was registered from just this file."""

    kept: Kept
    id: UUID
    full_name: str
    new: bool
    paused: bool


def parameters_of(kept: Kept, config: Path | None = None) -> dict[str, Any]:
    """The flow's parameters: plain data; what is left out is the flow's own default."""
    schedule = kept.schedule
    job = schedule.job.model_dump(mode="json", exclude_defaults=True)
    given = {_NAMES.get(key, key): value for key, value in job.items()}
    turns = {"name": schedule.name, "overlap": schedule.overlap, "late": kept.late, "deadline": schedule.deadline}
    whole = {**given, **turns, "config": None if config is None else str(config.absolute())}
    return {key: value for key, value in whole.items() if value is not None}


async def deployment_of(kept: Kept, file: Path, config: Path | None = None) -> RunnerDeployment:
    """The deployment of a schedule; nothing is registered yet."""
    flow: Any = scheduled_batch if isinstance(kept.schedule.job, BatchJob) else scheduled_prompt
    parameters = parameters_of(kept, config)
    said = encode([parameters, str(kept.times)])
    deployment: RunnerDeployment = await flow.to_deployment(
        name=kept.schedule.name,
        parameters=parameters,
        schedules=[kept.times.in_prefect()],
        tags=[TAG, _file_tag(file)],
        version=hashlib.sha256(said).hexdigest()[:_VERSION],
        description=f"{kept.times} — from {kept.place}",
        enforce_parameter_schema=True,
        # By its module: the folder of a schedules file is nobody's to import from.
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
    return deployment


async def register(
    client: PrefectClient, schedules: Sequence[Kept], file: Path, config: Path | None
) -> list[Registered]:
    """Make Prefect know the schedules. One that is there as this file says it stays as it is, with whatever was changed
    in Prefect; those that are no longer in the file are paused. Raises what the client raises."""
    found = []
    for kept in schedules:
        deployment = await deployment_of(kept, file, config)
        try:
            there = await client.read_deployment_by_name(deployment.full_name)
        except ObjectNotFound:
            there = None
        new = there is None or there.version != deployment.version
        if there is None or new:
            applied: Any = deployment.apply()
            deployment_id = await applied
            there = await client.read_deployment(deployment_id)
        found.append(Registered(kept, there.id, deployment.full_name, new=new, paused=there.paused))
    await _pause_others(client, {one.id for one in found}, file)
    return found


async def _pause_others(client: PrefectClient, ours: set[UUID], file: Path) -> None:
    tagged = DeploymentFilter(tags=DeploymentFilterTags(all_=[_file_tag(file)]))
    for other in await client.read_deployments(deployment_filter=tagged):
        if other.id not in ours and not other.paused:
            await client.pause_deployment(other.id)


def _file_tag(file: Path) -> str:
    return f"from {file.absolute()}"
