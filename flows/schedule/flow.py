"""What a schedule deploys: a batch, or a prompt as a batch of one, each time as an edition of its own."""

from __future__ import annotations

from typing import Any, Literal

from prefect import flow
from prefect.client.schemas.objects import State

from atomic.settings import WorkspaceMode
from flows.batch import BatchResult
from flows.recovery import on_ended_from_outside
from flows.schedule.facts import LATE
from flows.schedule.taking import How, take_turn


@flow(
    name="scheduled-batch",
    persist_result=False,
    on_cancellation=[on_ended_from_outside],
    on_crashed=[on_ended_from_outside],
)
async def scheduled_batch(
    input: str,  # noqa: A002 - what it is called everywhere
    name: str,
    output: str | None = None,
    template: str | None = None,
    format: str | None = None,  # noqa: A002
    policy: str | dict[str, Any] | None = None,
    models: list[str] | None = None,
    agent: str | None = None,
    cwd: str | None = None,
    tags: list[str] | None = None,
    metadata: dict[str, Any] | None = None,
    slash: bool = False,
    workspace: WorkspaceMode | None = None,
    shared: bool | None = None,
    limit: int | None = None,
    concurrency: int | None = None,
    max_cost: float | None = None,
    max_tokens: int | None = None,
    on_budget: Literal["finish", "stop"] = "finish",
    stop_after: int | None = None,
    track: Literal["session", "shard", "auto"] | None = None,
    limit_across: str | None = None,
    config: str | None = None,
    overlap: Literal["skip", "queue"] = "skip",
    late: float = LATE,
    deadline: str | None = None,
    edition: str | None = None,
) -> State[BatchResult]:
    """Run every prompt of an input, each time it is due, as an edition of its own.

    Args:
        input: The file of the items: JSONL, CSV, YAML, or text with one prompt a line.
        name: The batch's name.
        output: The folder of results.jsonl and errors.jsonl; by default `<name>-results` beside the input.
        template: A Jinja2 template that makes a prompt of each row.
        format: The input's format, where its name does not say it.
        policy: The policy of items that name none: a name, or a policy.
        models: Models `provider/id[:level]` in order, in the place of that policy's.
        agent: The agent's command line; by default as the settings say.
        cwd: The folder in which the agent works, for items that name none.
        tags: Tags for every record.
        metadata: Anything, for every record.
        slash: Allow prompts that begin with `/`, the agent's own commands and templates.
        workspace: `shared` for the folder itself, `worktree` or `copy` for one of each run's own.
        shared: Allow several sessions in the same folder at once; by default as the settings say.
        limit: Run so many items of an edition.
        concurrency: Sessions at a time.
        max_cost: The most that an edition may cost, in dollars.
        max_tokens: The most tokens that an edition may use.
        on_budget: When one of these is reached: `finish` what is live, or `stop` it.
        stop_after: Halt after so many failures of one kind in a row, with no answer between; 0: never.
        track: What becomes a task: every `session`, a `shard` of 200 items, or `auto`: sessions while there are few.
        limit_across: Sessions at a time on all machines, as `NAME=N`: a global concurrency limit.
        config: A settings file, in the place of the project's.
        overlap: While the edition before is running: `skip` this one, or `queue` it until the next is due.
        late: How many seconds late it may begin; later, it is missed.
        deadline: Until when it waits for cooldowns: `6h`, `06:00`; by default the next scheduled time.
        edition: An edition to go on with; by default that of the scheduled time.
    """
    parameters = dict(locals())
    given = {key: value for key, value in parameters.items() if value is not None and key not in How.__slots__}
    return await take_turn(given, How(overlap, late, deadline, edition))


@flow(
    name="scheduled-prompt",
    persist_result=False,
    on_cancellation=[on_ended_from_outside],
    on_crashed=[on_ended_from_outside],
)
async def scheduled_prompt(
    name: str,
    prompt: str = "",
    prompt_file: str | None = None,
    policy: str | dict[str, Any] | None = None,
    models: list[str] | None = None,
    agent: str | None = None,
    cwd: str | None = None,
    tags: list[str] | None = None,
    metadata: dict[str, Any] | None = None,
    slash: bool = False,
    workspace: WorkspaceMode | None = None,
    shared: bool | None = None,
    max_cost: float | None = None,
    max_tokens: int | None = None,
    on_budget: Literal["finish", "stop"] = "finish",
    config: str | None = None,
    overlap: Literal["skip", "queue"] = "skip",
    late: float = LATE,
    deadline: str | None = None,
    edition: str | None = None,
) -> State[BatchResult]:
    """Ask the models of a policy, one after another, each time it is due.

    Args:
        name: The prompt's name: that of the batch of one which it is.
        prompt: What the agent should do.
        prompt_file: A file that holds the prompt, in its place.
        policy: The name of a policy, or a policy.
        models: Models `provider/id[:level]` in order, in the place of the policy's.
        agent: The agent's command line; by default as the settings say.
        cwd: The folder in which the agent works.
        tags: Tags for the record.
        metadata: Anything, for the record.
        slash: Allow a prompt that begins with `/`, the agent's own commands and templates.
        workspace: `shared` for the folder itself, `worktree` or `copy` for one of each run's own.
        shared: Allow other sessions in the same folder meanwhile; by default as the settings say.
        max_cost: The most that it may cost each time, in dollars.
        max_tokens: The most tokens that it may use each time.
        on_budget: When one of these is reached: `finish` what is live, or `stop` it.
        config: A settings file, in the place of the project's.
        overlap: While the one before is running: `skip` this one, or `queue` it until the next is due.
        late: How many seconds late it may begin; later, it is missed.
        deadline: Until when it waits for cooldowns: `6h`, `06:00`; by default the next scheduled time.
        edition: An edition to go on with; by default that of the scheduled time.
    """
    parameters = dict(locals())
    apart = {*How.__slots__, "prompt", "prompt_file"}
    given = {key: value for key, value in parameters.items() if value is not None and key not in apart}
    item = {"prompt_file": prompt_file} if prompt_file else {"prompt": prompt}
    return await take_turn(given, How(overlap, late, deadline, edition), {"custom_id": name, **item})
