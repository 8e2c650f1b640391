"""What these tests play on: agents that write just this stream, and runs that nobody but the scripted agent answers."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from atomic.agent import Agent
from atomic.policy import FallbackPolicy
from atomic.runner import RunResult, run
from atomic.settings import Settings
from tests.agents import Place, closing, message, opening


def lines(*records: Mapping[str, Any]) -> bytes:
    """The records as an agent writes them: raw UTF-8, a line each."""
    return b"".join(
        json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for record in records
    )


def answered(text: str = "done", *before: Mapping[str, Any]) -> bytes:
    """A whole stream that ends with this answer."""
    return lines(*opening(), *before, message(text), *closing())


def plays(place: Place, stream: bytes, then: str = "") -> Agent:
    """An agent that writes this stream, whatever it is, and then does what the shell text says."""
    file = place.folder / f"stream {len(list(place.folder.iterdir()))}"
    file.write_bytes(stream)
    return place.agent(f"cat {shlex.quote(str(file))}\n{then}")


async def ask(
    place: Place, prompt: str, *models: str, agent: Agent | str = "scripted", check: bool = False, **policy: Any
) -> RunResult:
    """A whole run; `policy` holds what differs from the defaults."""
    return await run(
        prompt,
        policy=FallbackPolicy(models=models, **policy),
        agent=agent,
        cwd=place.work,
        settings=Settings(home=place.store.home),
        store=place.store,
        check=check,
    )


async def number(path: Path) -> int:
    """The number that a script writes there, once it has."""
    while not path.exists() or not path.read_text().endswith("\n"):
        await asyncio.sleep(0.005)
    return int(path.read_text())
