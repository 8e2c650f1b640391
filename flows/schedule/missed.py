"""Scheduled times that went by while nobody was there: they are not made up for, and they do not go unseen."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from prefect.client.orchestration import PrefectClient
from prefect.states import Cancelled

from flows.database import Database, EditionState, editions
from flows.schedule.deployments import Registered
from flows.schedule.reading import Kept
from flows.schedule.taking import known_editions
from flows.schedule.times import edition_of
from flows.schedule.turns import last_moment

MOST = 100  # times of one schedule that are noted: what was away for longer is known to have been
REASON = "nobody served the schedule at that time"


def missed_times(kept: Kept, there: Sequence[EditionState], now: float) -> list[float]:
    """The times since the last edition that can no longer be begun."""
    last = last_moment(there)
    return [] if last is None else kept.times.after(last, MOST, until=now - kept.late)


async def note_missed(
    client: PrefectClient, database: Database, registered: Sequence[Registered], now: float
) -> dict[str, list[float]]:
    """Note what was missed, as editions and in Prefect. Returns the times by the schedules' names. Raises
    DatabaseError, and what the client raises."""
    found = {}
    for one in registered:
        kept, name = one.kept, one.kept.schedule.name
        there = await database.apart(known_editions, name)
        times = set(missed_times(kept, there, now))
        times |= await _close_overdue(client, one.id, now - kept.late)
        noted = [
            moment
            for moment in sorted(times)
            if await database.apart(editions.skip, name, edition_of(moment), reason=f"missed: {REASON}")
        ]
        if noted:
            found[name] = noted
    return found


async def _close_overdue(client: PrefectClient, deployment_id: UUID, before: float) -> set[float]:
    """Close the flow runs that Prefect made for times before, and return these."""
    moment = datetime.fromtimestamp(before, UTC)
    overdue = await client.get_scheduled_flow_runs_for_deployments([deployment_id], scheduled_before=moment)
    times = set()
    for run in overdue:
        if run.auto_scheduled and run.expected_start_time is not None:
            await client.set_flow_run_state(run.id, Cancelled(name="Missed", message=REASON), force=True)
            times.add(run.expected_start_time.timestamp())
    return times
