"""Processes: which they are, who belongs to an attempt, how they are started and ended."""

from __future__ import annotations

from atomic.processes.child import GRACE, Child
from atomic.processes.ending import Swept, signal_process, stop, sweep
from atomic.processes.ids import ProcessId, boot_id, identify, is_alive, own_id
from atomic.processes.kin import MARKER, SAMPLE, Found, Kin, descendants, find, living_markers, marked
from atomic.processes.orphans import adopting_orphans, adoption
from atomic.processes.steady import Steady

__all__ = [
    "GRACE",
    "MARKER",
    "SAMPLE",
    "Child",
    "Found",
    "Kin",
    "ProcessId",
    "Steady",
    "Swept",
    "adopting_orphans",
    "adoption",
    "boot_id",
    "descendants",
    "find",
    "identify",
    "is_alive",
    "living_markers",
    "marked",
    "own_id",
    "signal_process",
    "stop",
    "sweep",
]
