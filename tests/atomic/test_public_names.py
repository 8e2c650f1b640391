"""What is public: a name that appears or goes is a decision, made here."""

from __future__ import annotations

import subprocess
import sys

import atomic

PUBLIC = """
Agent AgentNotFound AtomicError AttemptRecord AttemptSpec Event Evidence FailureKind FallbackPolicy Limits ModelCatalog
ModelRef ModelRefError NoModelAnswered PlaceError PolicyError Progress PromptError Record RecordDamaged RecordError
RunCancelled RunError RunEvent RunNotFound RunRecord RunRequest RunResult RunStore ServerError Settings SettingsError
Status UnknownEvent Usage UsageError Verdict decide execute explanation load_settings parse_event prepare read_events
read_records read_verdict recover run run_attempt run_sync
""".split()


def test_the_public_names_are_these() -> None:
    assert sorted(atomic.__all__) == PUBLIC
    assert all(hasattr(atomic, name) for name in PUBLIC)


def test_importing_it_brings_neither_prefect_nor_anything_else_that_costs() -> None:
    program = (
        "import atomic, sys; print([m for m in ('prefect', 'pydantic', 'httpx', 'rich', 'typer') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
