"""The record: the files of a run. Where they lie, how they are written, found and read back."""

from __future__ import annotations

from atomic.record.facts import (
    AttemptRecord,
    AttemptSummary,
    Changes,
    Owner,
    RunRecord,
    RunStatus,
    StreamFile,
    WorkspaceStart,
)
from atomic.record.folders import AttemptFolder, RunFolder
from atomic.record.keys import Claim
from atomic.record.query import RunQuery, find_runs
from atomic.record.store import RunStore

__all__ = [
    "AttemptFolder",
    "AttemptRecord",
    "AttemptSummary",
    "Changes",
    "Claim",
    "Owner",
    "RunFolder",
    "RunQuery",
    "RunRecord",
    "RunStatus",
    "RunStore",
    "StreamFile",
    "WorkspaceStart",
    "find_runs",
]
