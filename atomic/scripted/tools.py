"""Tools: real commands, each in a session of its own as the real agent runs them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from atomic.scripted.agent import Agent
from atomic.scripted.wire import Json

if TYPE_CHECKING:
    import subprocess

TOOL = "bash"
CALL_ID = "call_1"
TIMEOUT_SECONDS = 300  # what the real agent says; a script's commands are short, or meant to hang


def start(command: str) -> subprocess.Popen[str]:
    """Start a shell command in its own session and process group."""
    import subprocess  # only here: it is most of what the behaviours without tools would import

    return subprocess.Popen(
        ["/bin/sh", "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )


def ask(agent: Agent, command: str, *, call_id: str = CALL_ID) -> Json:
    """The model asks for a command, and the tool's execution starts. Returns the fields that name the call."""
    agent.ask_for_tool(TOOL, call_id, {"command": command})
    call = {"toolCallId": call_id, "toolName": TOOL}
    agent.wire.emit("tool_execution_start", **call, args={"command": command})
    agent.wire.emit("tool_execution_update", **call, args={"command": command}, partialResult={"content": []})
    return call


def use(agent: Agent, command: str, *, call_id: str = CALL_ID) -> None:
    """A whole turn with a tool: the model asks, the command runs, its result goes back."""
    call = ask(agent, command, call_id=call_id)
    began = time.monotonic()
    process = start(command)
    output, _ = process.communicate()
    finish(agent, call, output, code=process.returncode, seconds=time.monotonic() - began)


def finish(agent: Agent, call: Json, output: str, *, code: int = 0, seconds: float = 0) -> None:
    """End the tool's execution, hand its result to the model and end the turn."""
    details: Json = {"timeoutSeconds": TIMEOUT_SECONDS, "wallTimeMs": int(seconds * 1000)}
    text, inner = output or "(no output)", {}
    failed = code != 0
    if failed:
        text += f"\n\nCommand exited with code {code}"
        details["exitCode"] = code
        inner = {"isError": True}  # today's agent says it here, and `false` on the event
    outer = failed and agent.wire.style.failure_exit == 0  # pi says it on the event
    result = {"content": [{"type": "text", "text": text}], "details": details}
    agent.wire.emit("tool_execution_end", **call, result={**result, **inner}, isError=outer)
    agent.give_tool_result({**call, **result, "isError": outer})
    agent.end_turn()
