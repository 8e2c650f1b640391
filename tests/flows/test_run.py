"""A prompt as a flow: what Prefect shows of it, what the caller gets, and what stands on record."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from atomic.errors import AgentNotFound, NoModelAnswered, PromptError, UsageError
from atomic.failures import FailureKind
from atomic.policy import FallbackPolicy
from tests.flows.prefect_server import Place, artifacts_of, read_back


async def test_a_fallback_is_two_task_runs_of_one_flow_run(place: Place) -> None:
    from flows import run_prompt

    result = await run_prompt("hello", models=["scripted/overflow", "other/ok"], agent="scripted", tags=["mine"])

    assert result.answered_by == "other/ok"
    assert result.flow_run_id is not None
    flow_run, tasks = await read_back(result.flow_run_id, tasks_at_least=2)
    assert flow_run.state is not None
    assert flow_run.state.is_completed()
    assert {"mine", "scripted/overflow", "other/ok", "overflow", "answered_by:other/ok"} <= set(flow_run.tags)
    assert [(task.name, task.tags) for task in tasks] == [
        ("attempt 1 · scripted/overflow", ["scripted/overflow"]),
        ("attempt 2 · other/ok", ["other/ok"]),
    ]
    first, second = (task.state for task in tasks)
    assert first is not None
    assert first.is_failed()
    assert "overflow" in (first.message or "")
    assert second is not None
    assert second.is_completed()
    assert place.runs()[0].flow_run_id == result.flow_run_id


async def test_a_run_that_nobody_answered_ends_failed_and_says_who_failed_and_why(place: Place) -> None:
    from flows import run_prompt

    with pytest.raises(NoModelAnswered) as raised:
        await run_prompt("hello", models=["scripted/auth", "other/refusal"], agent="scripted")

    result = raised.value.result
    assert [attempt.kind for attempt in result.attempts][-1] == FailureKind.REFUSAL
    flow_run, tasks = await read_back(result.flow_run_id)
    assert flow_run.state is not None
    assert flow_run.state.is_failed()
    for word in ("scripted/auth", "auth", "other/refusal", "refusal"):
        assert word in (flow_run.state.message or "")
    assert {"auth", "refusal", "scripted/auth", "other/refusal"} <= set(flow_run.tags)
    assert all(task.state is not None and task.state.is_failed() for task in tasks)


async def test_the_result_of_a_failed_run_is_returned_where_it_is_asked_for(place: Place) -> None:
    from flows import run_prompt

    result = await run_prompt("hello", models=["scripted/refusal"], agent="scripted", check=False)

    assert result.kind == FailureKind.REFUSAL


async def test_within_a_users_flow_it_is_a_subflow(place: Place) -> None:
    from prefect import flow

    from flows import run_prompt

    @flow
    async def nightly() -> list[str | None]:
        policy = FallbackPolicy(models=["scripted/ok"])
        first, second = await asyncio.gather(
            run_prompt("one", policy=policy, agent="scripted"),
            run_prompt("two", policy=policy.model_dump(mode="json"), agent="scripted"),
        )
        return [first.answer, second.answer]

    assert await nightly() == ["Hello from a scripted agent."] * 2
    assert len({record.flow_run_id for record in place.runs()}) == 2


def test_the_synchronous_form_works_in_a_synchronous_flow(place: Place) -> None:
    from prefect import flow

    from flows import run_prompt_sync

    @flow
    def nightly() -> str | None:
        return run_prompt_sync("hello", models=["scripted/ok"], agent="scripted").answer

    assert nightly() == "Hello from a scripted agent."


async def test_the_synchronous_form_says_what_to_write_where_a_loop_runs(place: Place) -> None:
    from flows import run_prompt_sync

    with pytest.raises(UsageError, match="event loop") as raised:
        run_prompt_sync("hello", models=["scripted/ok"], agent="scripted")

    assert "await run_prompt" in (raised.value.hint or "")


async def test_one_attempt_is_a_verdict_for_flows_that_decide_themselves(place: Place) -> None:
    from prefect import flow

    from flows import attempt

    @flow
    async def own() -> list[bool]:
        return [
            (await attempt("hello", model, agent="scripted")).answered for model in ("scripted/quota", "scripted/ok")
        ]

    assert await own() == [False, True]
    _, tasks = await read_back(place.runs()[0].flow_run_id or "", tasks_at_least=2)
    assert sorted(task.name for task in tasks) == ["attempt 1 · scripted/ok", "attempt 1 · scripted/quota"]


async def test_a_key_buys_an_answer_once(place: Place) -> None:
    from flows import run_prompt

    first = await run_prompt("hello", models=["scripted/ok"], agent="scripted", key="triage-4711")
    second = await run_prompt("hello", models=["scripted/ok"], agent="scripted", key="triage-4711")

    assert second.run_id == first.run_id
    assert second.answer == first.answer
    assert len(place.runs()) == 1


@pytest.mark.parametrize(
    ("prompt", "given", "error"),
    [
        ("", {}, PromptError),
        ("/compact", {}, PromptError),
        ("hello", {"agent": "no-such-program"}, AgentNotFound),
        ("hello", {"models": ["nameless"]}, UsageError),
    ],
)
async def test_bad_input_makes_no_flow_run(
    place: Place, prompt: str, given: dict[str, Any], error: type[UsageError]
) -> None:
    from prefect.client.orchestration import get_client

    from flows import run_prompt

    async with get_client() as client:
        before = await client.count_flow_runs()
        with pytest.raises(error):
            await run_prompt(prompt, **{"models": ["scripted/ok"], "agent": "scripted", **given})
        assert await client.count_flow_runs() == before
    assert not place.runs()


async def test_a_prompt_of_a_megabyte_goes_by_reference(place: Place) -> None:
    from prefect.client.orchestration import get_client

    from flows import run_prompt

    prompt = "x" * 1_000_000
    result = await run_prompt(prompt, models=["scripted/ok"], agent="scripted")

    assert result.flow_run_id is not None
    async with get_client() as client:
        parameters = (await client.read_flow_run(UUID(result.flow_run_id))).parameters
    assert not parameters["prompt"]
    assert Path(parameters["prompt_file"]).read_text() == prompt
    assert place.store.open(result.run_id).prompt == prompt.encode()


async def test_what_is_secret_is_in_no_parameter_and_no_artifact(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    from prefect.client.orchestration import get_client

    from flows import run_prompt

    (place.home / "atomic-flows.toml").write_text(
        '[agent]\ncommand = ["scripted"]\nenv = { MY_API_KEY = "sk-hush-hush" }\n'
    )
    result = await run_prompt("hello", models=["scripted/hostile-error", "scripted/ok"])

    assert result.flow_run_id is not None
    async with get_client() as client:
        flow_run = await client.read_flow_run(UUID(result.flow_run_id))
    told = [flow_run.model_dump_json(), *(str(one.data) for one in await artifacts_of(flow_run_id=result.flow_run_id))]
    assert not [text for text in told if "sk-hush-hush" in text]


async def test_a_loop_that_is_blocked_for_seconds_loses_nothing(place: Place) -> None:
    from flows import run_prompt

    async def block() -> None:
        await asyncio.sleep(0.5)
        time.sleep(3)

    result, _ = await asyncio.gather(run_prompt("hello", models=["scripted/slow-10"], agent="scripted"), block())

    assert result.answer is not None
    assert result.answer.split() == [f"word{n}" for n in range(10)]
    flow_run, _tasks = await read_back(result.flow_run_id or "")
    assert flow_run.state is not None
    assert flow_run.state.is_completed()


async def test_a_deployment_takes_plain_data_and_finds_the_flow(place: Place) -> None:
    from prefect.flows import load_flow_from_entrypoint

    from flows import run_prompt

    as_deployment: Any = run_prompt.to_deployment

    deployment: Any = await as_deployment("nightly", parameters={"prompt": "hello", "models": ["scripted/ok"]})
    assert deployment.entrypoint is not None
    assert load_flow_from_entrypoint(deployment.entrypoint).name == run_prompt.name
    assert {"prompt", "policy", "models", "cwd", "name", "key", "tags"} <= set(run_prompt.parameters.properties)


async def test_a_flow_run_started_by_prefect_itself_has_only_its_parameters(place: Place) -> None:
    from prefect.flow_engine import run_flow_async

    from flows import run_prompt

    state: Any = await run_flow_async(
        run_prompt,
        parameters={"prompt": "hello", "models": ["scripted/ok"], "agent": "scripted"},
        return_type="state",
    )
    assert state.is_completed()
    failed: Any = await run_flow_async(
        run_prompt, parameters={"prompt": "hello", "policy": "nightly"}, return_type="state"
    )
    assert failed.is_failed()
    assert "nightly" in (failed.message or "")
