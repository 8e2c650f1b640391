"""Sessions that use tools."""

from __future__ import annotations

import shlex

from atomic.scripted import tools
from atomic.scripted.agent import Agent

MEGABYTE = 1 << 20


def tool(agent: Agent, _: int) -> None:
    agent.begin()
    tools.use(agent, "echo hi")
    agent.begin_turn()
    agent.answer("The tool ", "said hi.")


def edit(agent: Agent, _: int) -> None:
    agent.begin()
    tools.use(agent, f"echo {shlex.quote(agent.model)} >> worked.txt")
    agent.begin_turn()
    agent.answer("I wrote my name ", "into worked.txt.")


def tool_fails(agent: Agent, _: int) -> None:
    agent.begin()
    tools.use(agent, "echo oops >&2; exit 3")
    agent.begin_turn()
    agent.answer("The tool ", "failed.")


def huge_tool(agent: Agent, megabytes: int) -> None:
    agent.begin()
    command = f"head -c {megabytes * MEGABYTE} /dev/zero | tr '\\0' A"
    tools.use(agent, command)
    agent.begin_turn()
    agent.answer("The tool ", "said much.")


def sleep_tool(agent: Agent, _: int) -> None:
    """Unlike the real agent it does not end its tool when it is told to stop: the worst case for whoever tells it."""
    agent.begin()
    call = tools.ask(agent, "sleep 1000")
    output, _error = tools.start("sleep 1000").communicate()
    tools.finish(agent, call, output)
    agent.begin_turn()
    agent.answer("Well slept.")


def ending_tool(agent: Agent, _: int) -> None:
    agent.begin()
    tools.use(agent, "echo the result is the answer")
    agent.end_run()
    agent.settle()


def turns(agent: Agent, count: int) -> None:
    agent.begin()
    for n in range(1, count):
        tools.use(agent, f"echo {n}", call_id=f"call_{n}")
        agent.begin_turn()
    agent.answer("It took ", f"{count} turns.")
