"""What the runs of a batch came to whose process died, for the history."""

from __future__ import annotations

from atomic.recovery import Recovered
from flows.batch.facts import BatchRequest
from flows.database import Database, runs
from flows.database.runs import Recorded


def keep_recovered(database: Database, request: BatchRequest, recovered: Recovered) -> None:
    """Note in the history what the runs came to that a dead process of this batch left. Raises DatabaseError."""
    found = []
    for one in recovered.runs:
        if one.run.batch == request.name:
            folder = request.store.open(one.run.run_id)
            found.append(Recorded(one.run, [attempt.read() for attempt in folder.attempts()], one.folder))
    runs.record_runs(database, found)
