"""Flow runs whose process is killed when their run is over, and Prefect's server has not heard of it."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from prefect.client.orchestration import get_client
from prefect.context import TagsContext, tags

from flows.begun import noted, without_mark
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


KILLED_AT_ITS_BEGINNING = """
import asyncio, os, signal
import flows.run

async def die(call):
    os.kill(os.getpid(), signal.SIGKILL)

flows.run._carry_out = die
asyncio.run(flows.run.run_prompt("x", models=["scripted/ok"], agent="scripted"))
"""

KILLED_BATCH = """
import asyncio, os, pathlib, signal
from flows import run_batch

def die(event):
    os.kill(os.getpid(), signal.SIGKILL)

pathlib.Path("prompts.txt").write_text("one\\ntwo\\n")
asyncio.run(run_batch("prompts.txt", models=["scripted/ok"], agent="scripted", on_event=die))
"""


@pytest.mark.parametrize("program", [KILLED_AT_ITS_BEGINNING, KILLED_BATCH], ids=["run", "batch"])
async def test_a_flow_run_killed_before_any_record_of_it_is_ended_by_the_next_start(place: Place, program: str) -> None:
    async with get_client() as client:
        before = {run.id for run in await client.read_flow_runs()}
        process = place.start(program)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        left = [run for run in await client.read_flow_runs() if run.id not in before]
        assert left
        assert not any(run.state is not None and run.state.is_final() for run in left)
        await recover_flows(place.store)
        ended = [run for run in await client.read_flow_runs() if run.id not in before]
        assert {run.state_name for run in ended} == {"Crashed"}
    assert notes_in(place.home) == []


def test_a_tag_of_the_users_own_is_no_mark_of_a_beginning(tmp_path: Path) -> None:
    with tags("begun-in-may"), noted(tmp_path):
        given = TagsContext.get().current_tags
        assert len(given) == 2
        assert without_mark(given) == {"begun-in-may"}


async def test_a_flow_run_that_went_well_keeps_no_mark_of_its_beginning(place: Place) -> None:
    process = place.start(PROGRAM.replace("os.kill", "(lambda *_: None)"))
    process.communicate()
    (run,) = place.runs()
    assert run.flow_run_id is not None
    flow_run, tasks = await read_back(run.flow_run_id)
    assert not [tag for tag in (*flow_run.tags, *(tag for task in tasks for tag in task.tags)) if "begun-" in tag]
    assert notes_in(place.home) == []
