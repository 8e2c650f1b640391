"""However a flow run is ended, no agent and no tool outlives it, and Prefect says what became of it."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from uuid import UUID

import pytest

from atomic.errors import RunCancelled
from atomic.failures import FailureKind
from flows.unsettled import notes_in
from tests.flows.prefect_server import Place, read_back, until

PROGRAM = """
import asyncio, sys
from flows import run_prompt
async def main():
    await run_prompt("hello", models=["scripted/sleep-tool", "other/ok"], agent="scripted")
try:
    asyncio.run(main())
except BaseException as error:
    print(type(error).__name__, flush=True)
    raise
"""


async def ended(place: Place, process: subprocess.Popen[bytes], number: signal.Signals, times: int = 1) -> str:
    """Send the signal to a program whose agent is in the middle of a tool; what it raised then."""
    place.until_tool_runs(process)
    for _ in range(times):
        process.send_signal(number)
        await asyncio.sleep(0.1)
    out, _ = await asyncio.to_thread(process.communicate)
    return out.decode().strip()


@pytest.mark.parametrize(
    ("number", "times", "raised"),
    [
        (signal.SIGINT, 1, "KeyboardInterrupt"),
        (signal.SIGINT, 3, "KeyboardInterrupt"),
        (signal.SIGTERM, 1, "TerminationSignal"),
    ],
)
async def test_a_signal_ends_the_agent_its_tools_and_the_flow_run(
    place: Place, number: signal.Signals, times: int, raised: str
) -> None:
    assert await ended(place, place.start(PROGRAM), number, times) == raised

    assert not place.markers()
    (record,) = place.runs()
    assert (record.status, record.kind) == ("failed", FailureKind.CANCELLED)
    assert len(record.attempts) == 1
    flow_run, tasks = await read_back(record.flow_run_id or "")
    assert flow_run.state is not None
    assert flow_run.state.is_cancelled()
    assert [task.state is not None and task.state.is_cancelled() for task in tasks] == [True]


async def test_a_handler_of_the_callers_own_stays_in_force(place: Place) -> None:
    program = PROGRAM.replace(
        "async def main():",
        "import signal\nasync def main():\n"
        "    own = asyncio.current_task()\n"
        "    loop = asyncio.get_running_loop()\n"
        "    signal.signal(signal.SIGTERM, lambda *_: loop.call_soon_threadsafe(own.cancel))",
    )
    assert await ended(place, place.start(program), signal.SIGTERM) == "CancelledError"

    assert not place.markers()
    flow_run, _ = await read_back(place.runs()[0].flow_run_id or "")
    assert flow_run.state is not None
    assert flow_run.state.is_cancelled()


async def test_after_a_kill_the_next_start_ends_what_was_left(place: Place) -> None:
    from prefect.client.orchestration import get_client

    from flows.recovery import recover_flows

    process = place.start(PROGRAM)
    record = place.until_tool_runs(process)
    process.kill()
    process.communicate()
    assert place.markers()
    async with get_client() as client:
        state = (await client.read_flow_run(UUID(record.flow_run_id))).state
        assert state is not None
        assert state.is_running()

    found = await recover_flows(place.store)

    assert [one.run.run_id for one in found.runs] == [record.run_id]
    assert not place.markers()
    flow_run, _ = await read_back(record.flow_run_id or "")
    assert flow_run.state is not None
    assert flow_run.state.is_crashed()
    assert not list((place.home / "unsettled").iterdir())


async def test_an_answer_that_a_kill_cut_off_from_prefect_is_completed_there(place: Place) -> None:
    from flows.recovery import recover_flows

    process = place.start(PROGRAM.replace("sleep-tool", "never-exits"))

    def answered() -> bool | None:
        for record in place.runs():
            stream = place.store.open(record.run_id).attempt(1).stream
            if stream.exists() and b"agent_settled" in stream.read_bytes():
                return True
        return None

    until(answered)
    process.kill()
    process.communicate()
    await recover_flows(place.store)

    (record,) = place.runs()
    assert record.status == "answered"
    flow_run, _ = await read_back(record.flow_run_id or "")
    assert flow_run.state is not None
    assert flow_run.state.is_completed()
    assert not place.markers()


async def test_cancelling_in_prefect_stops_the_agent(place: Place) -> None:
    from prefect.client.orchestration import get_client
    from prefect.states import Cancelling

    from flows import run_prompt

    async def cancel() -> None:
        record = await asyncio.to_thread(place.until_tool_runs)
        async with get_client() as client:
            await client.set_flow_run_state(UUID(record.flow_run_id), Cancelling())

    canceller = asyncio.create_task(cancel())
    with pytest.raises(RunCancelled) as raised:
        await run_prompt("hello", models=["scripted/sleep-tool"], agent="scripted")
    await canceller

    assert raised.value.result.kind == FailureKind.CANCELLED
    assert not place.markers()
    flow_run, _ = await read_back(raised.value.result.flow_run_id)
    assert flow_run.state is not None
    assert flow_run.state.is_cancelled()


async def test_a_cancel_of_the_callers_task_is_passed_on(place: Place) -> None:
    from flows import run_prompt

    run = asyncio.create_task(run_prompt("hello", models=["scripted/sleep-tool"], agent="scripted"))
    await asyncio.to_thread(place.until_tool_runs)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run

    assert not place.markers()
    flow_run, _ = await read_back(place.runs()[0].flow_run_id or "")
    assert flow_run.state is not None
    assert flow_run.state.is_cancelled()


async def test_a_server_that_dies_on_the_way_costs_no_answer(place: Place) -> None:
    """The run is answered and on record; once the server is back, the next start tells it."""
    program = (
        PROGRAM.replace("sleep-tool", "slow-30")
        .replace("async def main():\n    await", "async def main():\n    print((await")
        .replace('agent="scripted")', 'agent="scripted")).answer, flush=True)')
    )
    from flows.server import ensure_server, stop_server

    home = place.home / "other"
    home.mkdir()
    server = ensure_server(home)
    process = place.start(program, PREFECT_API_URL=server.url, PREFECT_CLIENT_MAX_RETRIES="1")
    until(
        lambda: True if any(place.store.open(one.run_id).attempt(1).stream.exists() for one in place.runs()) else None
    )
    stop_server(home)
    out, _err = await asyncio.to_thread(process.communicate)

    assert out.decode().split()[-1] == "word29"
    (record,) = place.runs()
    assert record.status == "answered"
    assert [path.stem for path in notes_in(place.home)].count(str(record.flow_run_id)) == 1
