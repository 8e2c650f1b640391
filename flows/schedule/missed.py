"""Scheduled times that went by while nobody was there: they are not made up for, and they do not go unseen."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime

from prefect.client.orchestration import PrefectClient
from prefect.client.schemas.objects import FlowRun
from prefect.states import Cancelled

from flows.database import Database, EditionState, editions
from flows.schedule.deployments import Registered
from flows.schedule.reading import Kept
from flows.schedule.taking import known_editions
from flows.schedule.times import edition_of
from flows.schedule.turns import is_missed, last_moment

MOST = 100  # times of one schedule that are noted: what was away for longer is known to have been
REASON = "nobody served the schedule at that time"


def missed_times(kept: Kept, there: Sequence[EditionState], now: float) -> list[float]:
    """The times since the last edition that can no longer be begun: they are too long ago, or the next one is due."""
    last = last_moment(there)
    times = [] if last is None else kept.times.after(last, MOST, until=now)
    return [
        at for n, at in enumerate(times) if is_missed(at, None if n + 1 == len(times) else times[n + 1], kept.late, now)
    ]


async def note_missed(
    client: PrefectClient, database: Database, registered: Sequence[Registered], now: float
) -> dict[str, list[float]]:
    """Note what was missed while nobody served, as editions and in Prefect. Returns the times by the schedules' names.
    Raises DatabaseError, and what the client raises."""
    found = {}
    for one in registered:
        there = await database.apart(known_editions, one.kept.schedule.name)
        before = datetime.fromtimestamp(now, UTC)
        due = await client.get_scheduled_flow_runs_for_deployments([one.id], scheduled_before=before)
        _, closed = await close_missed(client, due, one.kept.late, now)
        times = await note(database, one.kept, {*missed_times(one.kept, there, now), *closed})
        if times:
            found[one.kept.schedule.name] = times
    return found


async def close_missed(
    client: PrefectClient, due: Sequence[FlowRun], late: float, now: float
) -> tuple[list[FlowRun], list[float]]:
    """Of one deployment's flow runs that are due, those to begin; and the times of the others, which are closed in
    Prefect. Raises what the client raises."""
    ours = [run for run in due if run.auto_scheduled and run.expected_start_time is not None]
    times = sorted(run.expected_start_time.timestamp() for run in ours if run.expected_start_time is not None)
    begin = [run for run in due if run not in ours]
    missed = []
    for run in ours:
        assert run.expected_start_time is not None, "they were chosen by it"
        at = run.expected_start_time.timestamp()
        if is_missed(at, next((other for other in times if other > at), None), late, now):
            await client.set_flow_run_state(run.id, Cancelled(name="Missed", message=REASON), force=True)
            missed.append(at)
        else:
            begin.append(run)
    return begin, missed


async def note(database: Database, kept: Kept, times: Collection[float]) -> list[float]:
    """Note missed times as editions; those that were not noted before. Raises DatabaseError."""
    name, reason = kept.schedule.name, f"missed: {REASON}"
    return [at for at in sorted(times) if await database.apart(editions.skip, name, edition_of(at), reason=reason)]
