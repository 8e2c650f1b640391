"""Tiny agents: shell scripts that print records of the protocol and then do what a test is about."""

from __future__ import annotations

import json
import shlex
import stat
from pathlib import Path
from typing import Any

from atomic.agent import Agent
from atomic.models import ModelRef
from atomic.processes import ProcessId, identify, is_alive, marked
from atomic.record import AttemptRecord, RunStore
from atomic.session import AttemptSpec, run_attempt

MODEL = ModelRef("some", "model")


def opening() -> list[dict[str, Any]]:
    """What every stream begins with."""
    return [
        {"type": "session", "version": 3, "id": "0", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/"},
        {"type": "agent_start"},
        {"type": "turn_start"},
    ]


def message(text: str = "", stop: str = "stop", tokens: int = 2, cost: float = 0.5) -> dict[str, Any]:
    """A whole assistant message."""
    usage = {"input": tokens, "output": 0, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": cost}}
    content = [{"type": "text", "text": text}] if text else []
    said = {"role": "assistant", "provider": "some", "model": "model", "stopReason": stop, "content": content}
    return {"type": "message_end", "message": {**said, "usage": usage}}


def closing(*, settled: bool = True) -> list[dict[str, Any]]:
    """What a stream ends with."""
    return [{"type": "agent_end", "messages": []}, *([{"type": "agent_settled"}] if settled else [])]


def tool_start(call: str = "1", name: str = "bash") -> dict[str, Any]:
    """A tool begins."""
    return {"type": "tool_execution_start", "toolCallId": call, "toolName": name, "args": {}}


def tool_end(call: str = "1") -> dict[str, Any]:
    """A tool ends."""
    return {"type": "tool_execution_end", "toolCallId": call, "result": {"content": []}, "isError": False}


def say(*records: dict[str, Any]) -> str:
    """Shell text that prints the records, as the agent writes them: without blanks between the members."""
    lines = [json.dumps(record, separators=(",", ":")) for record in records]
    return "".join(f"printf '%s\\n' {shlex.quote(line)}\n" for line in lines)


def answer(text: str = "done") -> str:
    """Shell text that prints a whole answered stream."""
    return say(*opening(), message(text), *closing())


class Place:
    """Somewhere to run sessions: a store, a working folder, and what was left of each attempt."""

    def __init__(self, folder: Path, *, fsync: bool = False) -> None:
        self.folder = folder
        self.work = folder / "wörk folder"
        self.work.mkdir(parents=True)
        self.store = RunStore(folder / "records", home=folder / "home", fsync=fsync)

    def agent(self, script: str, **fields: Any) -> Agent:
        """An agent that is this shell script."""
        program = self.folder / f"agent {len(list(self.folder.iterdir()))}.sh"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return Agent(command=(str(program),), **fields)

    def spec(self, agent: Agent | str, **fields: Any) -> AttemptSpec:
        """An attempt with it."""
        run = self.store.create(b"as given")
        told: dict[str, Any] = {"model": MODEL, "cwd": self.work, "prompt": b"hello", "grace": 2.0, **fields}
        agent = self.agent(agent) if isinstance(agent, str) else agent
        return AttemptSpec(folder=run.attempt(1), run_id=run.run_id, n=1, agent=agent, **told)

    async def run(self, agent: Agent | str, **fields: Any) -> AttemptRecord:
        """Run an attempt with it, and see that nothing is left."""
        spec = self.spec(agent, **fields)
        record = await run_attempt(spec)
        assert record == spec.folder.read()
        return record

    def path(self, record: AttemptRecord) -> Path:
        """The folder of an attempt."""
        return self.store.open(record.run_id).path / record.record

    def stream(self, record: AttemptRecord) -> bytes:
        """All that its agent printed."""
        with self.store.open(record.run_id).attempt(record.n).open_stream() as stream:
            return stream.read()


def left_of(spec: AttemptSpec, *numbers: int) -> list[ProcessId]:
    """The processes of an attempt that still run: those with its marker, and those of the given numbers."""
    named = [found for number in numbers if (found := identify(number)) is not None]
    return [each for each in (*marked([spec.marker])[spec.marker], *named) if is_alive(each)]
