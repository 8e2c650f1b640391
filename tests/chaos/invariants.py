"""What must hold once the next start after a kill has ended."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from atomic.record import AttemptFolder, RunRecord, RunStore
from atomic.verdict import read_verdict
from flows.server import server_status
from tests.chaos.ground import Ground
from tests.chaos.victims import of_attempts

PATIENCE = 20.0  # seconds for the server to note what it was told
FINAL = ("COMPLETED", "FAILED", "CANCELLED", "CRASHED")


def broken(ground: Ground, prompt: str, result: dict[str, Any]) -> Iterator[str]:
    """Each thing that does not hold, in words. ``result`` is what the last start with the prompt's key printed."""
    store = ground.store
    for process in of_attempts(store):
        yield f"process {process.pid} is left"
    for path in _left_overs(store.home):
        yield f"{path} is left"
    for entry in store.live.entries():
        yield f"run {entry.run_id} is still listed as open"
    runs = [run for run in store.iter_runs(on_damaged=_raise) if run.key == prompt]
    for run in runs:
        yield from _of_run(store, run)
    yield from _of_key(ground, prompt, runs, result)


def unsettled(home: Path) -> Iterator[str]:
    """Flow and task runs that the local server does not know to have ended. It hears of some with a delay."""
    info = server_status(home).info
    assert info is not None, "a run went through it"
    until = time.monotonic() + PATIENCE
    while True:
        left = [
            f"{what[:-1]} {one['name']} is {one['state_type']}"
            for what in ("flow_runs", "task_runs")
            for one in httpx.post(f"{info.url}/{what}/filter", json={}, trust_env=False).json()
            if one["state_type"] not in FINAL
        ]
        if not left or time.monotonic() > until:
            yield from left
            return
        time.sleep(0.5)


def _of_key(ground: Ground, prompt: str, runs: list[RunRecord], result: dict[str, Any]) -> Iterator[str]:
    answered = [run.run_id for run in runs if run.status == "answered"]
    if answered != [result["run_id"]]:
        yield f"answered are {answered}, and the result is of {result['run_id']}"
    bought = sum(
        _was_answered(_stream(attempt)) for run in runs for attempt in ground.store.open(run.run_id).attempts()
    )
    if bought > 1:  # or none: an agent that is killed between its last message and its end has answered too
        yield f"the streams hold {bought} answers"
    sold = ground.sold(prompt)
    if sold is not None and sold > 1:
        yield f"the agent says that it answered {sold} times"


def _of_run(store: RunStore, run: RunRecord) -> Iterator[str]:
    """A run that has ended: its files are whole, and say the same."""
    folder = store.open(run.run_id)
    attempts = folder.attempts()
    if not run.ended:
        yield f"run {run.run_id} has no end"
    if [one.n for one in run.attempts] != [one.n for one in attempts]:
        yield f"run {run.run_id} lists attempts {[one.n for one in run.attempts]}, there are {len(attempts)}"
    verdicts = []
    for attempt in attempts:
        record = attempt.read()
        where = f"attempt {run.run_id}/{attempt.n}"
        if record.verdict is None:
            yield f"{where} has no verdict"
            continue
        verdicts.append(record.verdict.answered)
        if attempt.stream.exists():
            yield f"{where}: its stream was not put to rest"
        raw = _stream(attempt)
        if record.stream is None and raw:
            yield f"{where}: nothing is noted of its stream"
        if record.stream is not None and record.stream.sha256 != hashlib.sha256(raw).hexdigest():
            yield f"{where}: its stream is not what is noted"
        if _was_answered(raw) and not record.verdict.answered:
            yield f"{where} was answered, and its verdict is {record.kind}"
        if raw:
            again = read_verdict(
                attempt.stream, exit_code=record.exit_code, stderr=attempt.stderr, stopped=record.verdict.stopped
            )
            if (again.status, again.kind) != (record.status, record.kind):
                yield f"{where} is {record.kind}, and reads {again.kind} afterwards"
    if run.ended and (run.status == "answered") != any(verdicts):
        yield f"run {run.run_id} is {run.status}, its attempts say {verdicts}"


def _left_overs(home: Path) -> list[Path]:
    """Half-written files, and locks of runs."""
    found = [path for path in home.rglob("*.tmp") if "prefect" not in path.relative_to(home).parts]
    return [*found, *(home / "live").glob("*")]


def _stream(attempt: AttemptFolder) -> bytes:
    try:
        with attempt.open_stream() as stream:
            return stream.read()
    except FileNotFoundError:
        return b""


def _was_answered(stream: bytes) -> bool:
    """Whether an agent came to the end of its work with a text, read with nothing but JSON."""
    said: str | None = None
    ended = False
    for line in stream.split(b"\n"):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if not isinstance(record, dict):
            continue
        message = record.get("message") or {}
        if record.get("type") == "message_end" and message.get("role") == "assistant":
            texts = [block.get("text", "") for block in message["content"]]
            said, ended = ("".join(texts) if message.get("stopReason") == "stop" else None), False
        elif record.get("type") == "agent_end":
            ended = True
        elif record.get("type") in ("agent_start", "compaction_start", "auto_retry_start"):
            ended = False
    return ended and bool(said and said.strip())


def _raise(error: Exception) -> None:
    raise error
