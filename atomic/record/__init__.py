"""The record: the files of a run. Where they lie, how they are written, found and read back."""

from __future__ import annotations

from atomic.record.facts import AttemptRecord, AttemptSummary, Owner, RunRecord, RunStatus, StreamFile
from atomic.record.folders import AttemptFolder, RunFolder
from atomic.record.keys import Claim
from atomic.record.query import RunQuery, find_runs
from atomic.record.store import RunStore

__all__ = [
    "AttemptFolder",
    "AttemptRecord",
    "AttemptSummary",
    "Claim",
    "Owner",
    "RunFolder",
    "RunQuery",
    "RunRecord",
    "RunStatus",
    "RunStore",
    "StreamFile",
    "find_runs",
]
