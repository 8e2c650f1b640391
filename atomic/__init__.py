"""One agent session, and one run of several: streams, verdicts, fallback, records. No Prefect, no terminal.

    from atomic import run

    result = await run("List the risks here", models=["anthropic/claude-opus-4-5", "openai/gpt-5.2"])

Names are imported when they are first used, so that `import atomic` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atomic.agent import Agent
    from atomic.errors import (
        AgentNotFound,
        AtomicError,
        ModelRefError,
        NoModelAnswered,
        PlaceError,
        PolicyError,
        PromptError,
        RecordDamaged,
        RecordError,
        RunCancelled,
        RunError,
        RunNotFound,
        ServerError,
        SettingsError,
        UsageError,
    )
    from atomic.events import Event, UnknownEvent, parse_event, read_events
    from atomic.failures import FailureKind
    from atomic.framing import Record, read_records
    from atomic.models import ModelCatalog, ModelRef
    from atomic.policy import FallbackPolicy, Limits, decide
    from atomic.record import AttemptRecord, RunRecord, RunStore
    from atomic.recovery import recover
    from atomic.runner import RunEvent, RunRequest, RunResult, execute, prepare, run, run_sync
    from atomic.session import AttemptSpec, Progress, run_attempt
    from atomic.settings import Settings, load_settings
    from atomic.verdict import Evidence, Status, Usage, Verdict, explanation, read_verdict

__all__ = [
    "Agent",
    "AgentNotFound",
    "AtomicError",
    "AttemptRecord",
    "AttemptSpec",
    "Event",
    "Evidence",
    "FailureKind",
    "FallbackPolicy",
    "Limits",
    "ModelCatalog",
    "ModelRef",
    "ModelRefError",
    "NoModelAnswered",
    "PlaceError",
    "PolicyError",
    "Progress",
    "PromptError",
    "Record",
    "RecordDamaged",
    "RecordError",
    "RunCancelled",
    "RunError",
    "RunEvent",
    "RunNotFound",
    "RunRecord",
    "RunRequest",
    "RunResult",
    "RunStore",
    "ServerError",
    "Settings",
    "SettingsError",
    "Status",
    "UnknownEvent",
    "Usage",
    "UsageError",
    "Verdict",
    "decide",
    "execute",
    "explanation",
    "load_settings",
    "parse_event",
    "prepare",
    "read_events",
    "read_records",
    "read_verdict",
    "recover",
    "run",
    "run_attempt",
    "run_sync",
]

_HOMES = {
    "Agent": "atomic.agent",
    "AgentNotFound": "atomic.errors",
    "AtomicError": "atomic.errors",
    "ModelRefError": "atomic.errors",
    "NoModelAnswered": "atomic.errors",
    "PlaceError": "atomic.errors",
    "PolicyError": "atomic.errors",
    "PromptError": "atomic.errors",
    "RecordDamaged": "atomic.errors",
    "RecordError": "atomic.errors",
    "RunCancelled": "atomic.errors",
    "RunError": "atomic.errors",
    "RunNotFound": "atomic.errors",
    "ServerError": "atomic.errors",
    "SettingsError": "atomic.errors",
    "UsageError": "atomic.errors",
    "Event": "atomic.events",
    "UnknownEvent": "atomic.events",
    "parse_event": "atomic.events",
    "read_events": "atomic.events",
    "FailureKind": "atomic.failures",
    "Record": "atomic.framing",
    "read_records": "atomic.framing",
    "ModelCatalog": "atomic.models",
    "ModelRef": "atomic.models",
    "FallbackPolicy": "atomic.policy",
    "Limits": "atomic.policy",
    "decide": "atomic.policy",
    "AttemptRecord": "atomic.record",
    "RunRecord": "atomic.record",
    "RunStore": "atomic.record",
    "recover": "atomic.recovery",
    "RunEvent": "atomic.runner",
    "RunRequest": "atomic.runner",
    "RunResult": "atomic.runner",
    "execute": "atomic.runner",
    "prepare": "atomic.runner",
    "run": "atomic.runner",
    "run_sync": "atomic.runner",
    "AttemptSpec": "atomic.session",
    "Progress": "atomic.session",
    "run_attempt": "atomic.session",
    "Settings": "atomic.settings",
    "load_settings": "atomic.settings",
    "Evidence": "atomic.verdict",
    "Status": "atomic.verdict",
    "Usage": "atomic.verdict",
    "Verdict": "atomic.verdict",
    "explanation": "atomic.verdict",
    "read_verdict": "atomic.verdict",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'atomic' has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
