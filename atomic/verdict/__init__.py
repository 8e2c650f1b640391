"""From an agent's event stream to what it came to: a pure fold over the records."""

from __future__ import annotations

from atomic.verdict.explain import explanation
from atomic.verdict.facts import Evidence, Facts, Status, StopReason, Usage, Verdict
from atomic.verdict.fold import VerdictFold
from atomic.verdict.read import read_verdict
from atomic.verdict.seen import AnnouncedWait, OpenTool, WaitKind

__all__ = [
    "AnnouncedWait",
    "Evidence",
    "Facts",
    "OpenTool",
    "Status",
    "StopReason",
    "Usage",
    "Verdict",
    "VerdictFold",
    "WaitKind",
    "explanation",
    "read_verdict",
]
