"""Sessions that stop, hang or break instead of ending."""

from __future__ import annotations

import itertools
import os
import signal
import time
import zlib
from pathlib import Path

from atomic.scripted import tools
from atomic.scripted.agent import Agent
from atomic.scripted.behaviours.answers import GREETING
from atomic.scripted.wire import complain

STATE_VARIABLE = "ATOMIC_SCRIPTED_STATE"
TICK = 0.1
FOREVER = 1_000_000_000.0  # seconds


def crashed(agent: Agent, _: int) -> None:
    _half(agent)
    os.kill(os.getpid(), signal.SIGKILL)


def interrupted(agent: Agent, _: int) -> None:
    _half(agent)
    os.kill(os.getpid(), signal.SIGINT)


def flaky(agent: Agent, starts: int) -> int | None:
    folder = os.environ.get(STATE_VARIABLE)
    if not folder:
        complain(f"Error: {STATE_VARIABLE} must name a folder in which starts are counted")
        return 1
    counter = Path(folder) / f"{agent.model}-{zlib.crc32(agent.prompt.encode(errors='replace')):08x}"
    counter.parent.mkdir(parents=True, exist_ok=True)
    with counter.open("ab") as file:  # one byte a start: whole even when several start at once
        file.write(b".")
    if counter.stat().st_size <= starts:
        crashed(agent, 0)
    agent.begin()
    agent.answer(*GREETING)
    return None


def stalled(agent: Agent, _: int) -> None:
    _half(agent)
    time.sleep(FOREVER)


def stalled_start(_agent: Agent, _: int) -> None:
    time.sleep(FOREVER)


def endless(agent: Agent, _: int) -> None:
    agent.begin()
    agent.write(agent.open_message(), itertools.cycle(("still ", "at ", "it ")), pause=TICK)


def stubborn(agent: Agent, _: int) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    endless(agent, 0)


def never_exits(agent: Agent, _: int) -> None:
    agent.begin()
    agent.answer(*GREETING)
    time.sleep(FOREVER)


def leaves_child(agent: Agent, _: int) -> None:
    agent.begin()
    tools.use(agent, "sleep 1000 >/dev/null 2>&1 & echo started")
    agent.begin_turn()
    agent.answer("I left ", "something running.")


def unreadable(agent: Agent, _: int) -> None:
    agent.wire.raw(b"Welcome!\n")
    agent.wire.emit("greeting", text="a protocol of my own")
    agent.wire.emit("response", text="an answer nobody can find", prompt=agent.prompt)


def configuration(_agent: Agent, _: int) -> int:
    complain("Configured default model is unavailable or unsupported.")
    return 1


def _half(agent: Agent) -> None:
    agent.begin()
    agent.write(agent.open_message(), ("Half of ", "an ans"))
