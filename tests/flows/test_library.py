"""The packages as a program of somebody else's uses them: without Prefect, typed, from any folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.flows.prefect_server import Place

ALONE = """\
import sys

class Forbidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"prefect", "flows", "typer", "rich"}:
            raise AssertionError(f"atomic imports {name}")

sys.meta_path.insert(0, Forbidden())

import asyncio
import atomic
from atomic import *
from atomic.runner import AttemptEnded

told = []
policy = FallbackPolicy(models=["scripted/overflow", "other/ok"], limits={"idle": 60})
result = asyncio.run(run("hello", policy=policy, agent="scripted", on_event=told.append))
assert result.answered and result.answered_by == "other/ok", result
assert [event.model for event in told if isinstance(event, AttemptEnded)] == ["scripted/overflow", "other/ok"]

again = run_sync(b"hello", models=["scripted/echo"], agent=Agent.parse("scripted"), key="once", check=False)
assert again.answer == "hello"
try:
    run_sync("hello", models=["scripted/refusal"], agent="scripted")
except NoModelAnswered as error:
    assert error.result.kind is FailureKind.REFUSAL
else:
    raise AssertionError("nobody answered, and nothing was raised")

store = RunStore(load_settings().records, home=load_settings().home)
folder = store.find(result.run_id)
attempt = folder.attempts()[0]
verdict = read_verdict(attempt.stream, exit_code=attempt.read().exit_code)
assert verdict.kind is FailureKind.OVERFLOW and explanation(verdict)["kind"] == "overflow"
assert {event.type for event in read_events(attempt.stream)} >= {"session", "agent_start", "message_end"}
assert [record.type for record in read_records(attempt.stream)][0] == "session"
assert asyncio.run(recover(store)).runs == ()
assert all(hasattr(atomic, name) for name in atomic.__all__)
print("done")
"""

TYPED = """\
from __future__ import annotations

import asyncio
from pathlib import Path

from prefect import flow

from atomic import (
    Agent, AtomicError, Event, Evidence, FailureKind, FallbackPolicy, Limits, ModelRef, NoModelAnswered, Record,
    RunEvent, RunResult, RunStore, Settings, Usage, UsageError, Verdict, explanation, load_settings, parse_event,
    prepare, read_events, read_records, read_verdict, recover, run, run_sync,
)
from flows import attempt, attempt_sync, run_prompt, run_prompt_sync


def heard(event: RunEvent) -> None:
    print(event)


async def one() -> str | None:
    policy = FallbackPolicy(
        models=["anthropic/claude-opus-4-5:high", ModelRef("openai", "gpt-5.2")],
        on={"overflow": "larger-window", "network": {"retry": 1, "delay": 5, "then": "next"}},
        limits={"cost_usd": 2, "idle": 600},
    )
    try:
        result: RunResult = await run("hello", policy=policy, cwd=Path("repo"), on_event=heard, tags=["a"])
    except NoModelAnswered as error:
        result = error.result
    except UsageError as error:
        raise SystemExit(error.hint) from error
    usage: Usage = result.usage
    cost: float | None = result.cost_usd
    kinds: list[FailureKind | None] = [attempt.kind for attempt in result.attempts]
    print(usage.tokens, cost, kinds, result.answered)
    return result.answer


def two(stream: Path) -> None:
    verdict: Verdict = read_verdict(stream, exit_code=0)
    evidence: tuple[Evidence, ...] = verdict.evidence
    events: list[Event] = list(read_events(stream))
    records: list[Record] = list(read_records(stream))
    told: dict[str, object] = explanation(verdict)
    print(evidence, events, records, told, parse_event({"type": "session"}))


def three() -> RunResult:
    settings: Settings = load_settings()
    store = RunStore(settings.records, home=settings.home)
    asyncio.run(recover(store))
    request = prepare("x", models=["a/b"], agent=Agent(command=("pi",)), settings=settings)
    print(request.policy.limits == Limits())
    return run_sync("x", policy="default", store=store)


@flow
async def four() -> str | None:
    verdict: Verdict = await attempt("x", "a/b", limits={"total": 60})
    if verdict.answered:
        return verdict.answer
    result: RunResult = await run_prompt("x", models=["a/b", "c/d"], key="once")
    return result.answer


@flow
def five() -> None:
    verdict: Verdict = attempt_sync("x")
    result: RunResult = run_prompt_sync("x", policy={"models": ["a/b"]})
    print(verdict, result)


def six(error: AtomicError) -> int:
    return error.exit_code
"""

MISTAKES = {
    "a misspelled field": "result.anser",
    "a wrong argument": 'run_sync("x", modles=["a/b"])',
    "a wrong type": 'run_sync("x", models=3)',
    "what may be missing": "result.answer.upper()",
    "a policy's key": "FallbackPolicy(max_attemps=3)",
    "a wrong answer of a flow": 'run_prompt_sync("x").anser',
}
MISTAKEN = "from atomic import FallbackPolicy, RunResult, run_sync\nfrom flows import run_prompt_sync\n\n\n"


def outside(tmp_path: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """A command of somebody else's, in a folder of their own."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    environ = {**kept, "ATOMIC_FLOWS_HOME": str(tmp_path / "home")}
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, cwd=tmp_path, env=environ)


def test_atomic_alone_needs_no_prefect_and_no_terminal(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(ALONE)
    done = outside(tmp_path, "-W", "error", "program.py")
    assert done.returncode == 0, done.stderr
    assert (done.stdout, done.stderr) == ("done\n", "")


def checked(tmp_path: Path, text: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "program.py").write_text(text)
    cache = Path(__file__).parents[2] / ".mypy_cache" / "outside"  # shared between these tests: Prefect is large
    return outside(tmp_path, "-m", "mypy", "--strict", "--cache-dir", str(cache), "program.py")


def test_a_program_that_uses_all_of_it_passes_a_strict_check(tmp_path: Path) -> None:
    done = checked(tmp_path, TYPED)
    assert done.returncode == 0, done.stdout


def test_mistakes_are_found_before_anything_runs(tmp_path: Path) -> None:
    lines = [f"def mistake_{n}(result: RunResult) -> None:\n    {text}\n" for n, text in enumerate(MISTAKES.values())]
    done = checked(tmp_path, MISTAKEN + "\n\n".join(lines))
    assert done.returncode == 1, done.stdout
    for name, text in MISTAKES.items():
        line = (MISTAKEN + "\n\n".join(lines)).splitlines().index(f"    {text}") + 1
        assert f"program.py:{line}: error" in done.stdout, (name, done.stdout)


OWN_FLOW = """\
from prefect import flow
from flows import attempt_sync, run_prompt_sync

@flow
def ladder(models: list[str]) -> str | None:
    for model in models:
        verdict = attempt_sync("hello", model, agent="scripted")
        if verdict.answered:
            return verdict.answered_by
    return None

@flow
def whole() -> str | None:
    return run_prompt_sync("hello", models=["scripted/auth", "other/echo"], agent="scripted").answer

if __name__ == "__main__":
    print(ladder(["scripted/empty", "other/ok"]), whole())
"""


def test_attempts_and_runs_within_a_flow_that_is_not_asynchronous(place: Place) -> None:
    (place.project / "program.py").write_text(OWN_FLOW)
    done = subprocess.run(
        [sys.executable, "program.py"], capture_output=True, text=True, cwd=place.project, env=place.environment()
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "other/ok hello"
    assert "Traceback" not in done.stderr, done.stderr
    assert len(place.runs()) == 3


@pytest.mark.parametrize("name", ["run_sync", "flows.run_prompt_sync", "flows.attempt_sync"])
def test_the_synchronous_forms_say_what_to_write_inside_a_loop(tmp_path: Path, name: str) -> None:
    module, _, function = name.rpartition(".")
    program = (
        f"import asyncio\nfrom {module or 'atomic'} import {function}\nfrom atomic import UsageError\n"
        f"async def main():\n    try:\n        {function}('x')\n"
        "    except UsageError as error:\n        print(error.hint)\nasyncio.run(main())\n"
    )
    (tmp_path / "program.py").write_text(program)
    done = outside(tmp_path, "program.py")
    assert "Write `await" in done.stdout, done.stderr
