"""Flow runs whose process is killed when their run is over, and Prefect's server has not heard of it."""

from __future__ import annotations

import signal

from flows.recovery import recover_flows
from flows.unsettled import notes_in
from tests.flows.prefect_server import Place, read_back

PROGRAM = """
import asyncio, os, signal
from atomic.runner import RunEnded
from flows import run_prompt
from flows.run import watching

def die_at_the_end(event):
    if isinstance(event, RunEnded):
        os.kill(os.getpid(), signal.SIGKILL)

async def main():
    with watching(die_at_the_end):
        await run_prompt("x", models=["scripted/ok"], agent="scripted")

asyncio.run(main())
"""


async def test_a_kill_between_the_end_on_record_and_the_servers_is_made_good_by_the_next_start(place: Place) -> None:
    process = place.start(PROGRAM)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    (run,) = place.runs()
    assert run.status == "answered"
    assert list(place.store.live.entries()) == [], "to recovery there is nothing left to do"
    assert run.flow_run_id is not None
    await recover_flows(place.store)
    flow_run, tasks = await read_back(run.flow_run_id)
    assert flow_run.state_name == "Completed"
    assert [task.state_name for task in tasks] == ["Completed"]
    assert notes_in(place.home) == []
