"""Flow runs that have begun: a note in the home, and a tag in Prefect by which a later start finds them.

Between a flow run's creation and the first word of its record a kill leaves nothing else that names it; a batch's flow
run has no record of its own at all. The note goes when the server has been told the end.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from prefect.client.orchestration import PrefectClient
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId, FlowRunFilterTags
from prefect.client.schemas.objects import FlowRun, State
from prefect.context import TagsContext, tags
from prefect.settings import PREFECT_API_URL
from prefect.states import Crashed

from atomic.record.files import encode, make_folder, write_file
from atomic.record.owner import OwnerState, state_of, this_process
from flows.unsettled import NOTES, Begun

NOTE = "begun-"  # begins a note's name
MARK = f"atomic-flows:{NOTE}"  # begins the tag: no tag that a user would give
CRASHED = "the process that carried it out has ended, and Prefect was not told how"


@contextlib.contextmanager
def noted(home: Path) -> Iterator[None]:
    """Note that a flow run begins here. The note stays where the body raises: nobody knows what the server was told."""
    drawn = uuid.uuid4().hex[:12]
    tag = f"{MARK}{drawn}"
    note = home / NOTES / f"{NOTE}{drawn}.json"
    begun = Begun(tag=tag, owner=this_process(), api=PREFECT_API_URL.value() or "", noted_at=time.time())
    make_folder(note.parent)
    write_file(note, encode(begun.model_dump(mode="json")))
    with tags(tag):
        yield
    note.unlink(missing_ok=True)


@contextlib.contextmanager
def unmarked() -> Iterator[None]:
    """Task runs that are created within do not get the tag: their flow run leads to them."""
    with TagsContext(current_tags=without_mark(TagsContext.get().current_tags)):
        yield


def without_mark(given: Any) -> set[str]:
    """Tags without the one of :func:`noted`."""
    return {tag for tag in given if not tag.startswith(MARK)}


async def end_begun(note: Begun, client: PrefectClient, *, known: frozenset[str], forget_after: float) -> bool:
    """End what a dead process began and never ended. ``known`` are flow runs that have notes of their own, which say
    how they ended. Returns whether the note has become idle."""
    if state_of(note.owner) is not OwnerState.DEAD:
        return False
    if note.api != (PREFECT_API_URL.value() or ""):  # another server's, which may be asked another time
        return time.time() - note.noted_at > forget_after
    found = await client.read_flow_runs(flow_run_filter=FlowRunFilter(tags=FlowRunFilterTags(all_=[note.tag])))
    for flow_run in found:
        if str(flow_run.id) not in known:
            await crash(flow_run, client)
    return not any(str(flow_run.id) in known for flow_run in found)


async def crash(flow_run: FlowRun, client: PrefectClient, message: str = CRASHED) -> None:
    """End a flow run and its task runs as crashed, unless they have ended."""
    crashed: State[Any] = Crashed(message=message)
    tasks = FlowRunFilter(id=FlowRunFilterId(any_=[flow_run.id]))
    for task in await client.read_task_runs(flow_run_filter=tasks, limit=200):
        if task.state is None or not task.state.is_final():
            await client.set_task_run_state(task.id, crashed, force=True)
    if flow_run.state is None or not flow_run.state.is_final():
        await client.set_flow_run_state(flow_run.id, crashed, force=True)
