"""Agents for measuring: a static program that prints a small answered stream, at once or over some time. What it costs
itself is as near to nothing as a process can be, so that what is measured is the parent."""

from __future__ import annotations

import subprocess
from pathlib import Path

from atomic.agent import Agent
from atomic.models import ModelRef
from atomic.record import RunStore
from atomic.session import AttemptSpec

MODEL = ModelRef("bench", "instant")

# BENCH_SECONDS: how long it takes; BENCH_RATE: updates a second meanwhile.
_SOURCE = r"""
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#define MESSAGE "{\"role\":\"assistant\",\"provider\":\"bench\",\"model\":\"instant\",\"usage\":{\"input\":1200," \
  "\"output\":9,\"cacheRead\":0,\"cacheWrite\":0,\"totalTokens\":1209,\"cost\":{\"total\":0.003}},\"stopReason\":"
static const char opening[] =
  "{\"type\":\"session\",\"version\":3,\"id\":\"x\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/\"}\n"
  "{\"type\":\"agent_start\"}\n{\"type\":\"turn_start\"}\n"
  "{\"type\":\"message_start\",\"message\":" MESSAGE "\"pending\",\"content\":[]}}\n";
static const char update[] =
  "{\"type\":\"message_update\",\"usage\":{\"input\":1200,\"output\":9,\"cacheRead\":0,\"cacheWrite\":0,\"totalTokens\":"
  "1209,\"cost\":{\"input\":0.003,\"output\":0,\"cacheRead\":0,\"cacheWrite\":0,\"total\":0.003}},"
  "\"assistantMessageEvent\":{\"type\":\"text_delta\",\"contentIndex\":0,\"delta\":\"some words of an answer \"}}\n";
static const char closing[] =
  "{\"type\":\"message_end\",\"message\":" MESSAGE "\"stop\",\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}}\n"
  "{\"type\":\"turn_end\",\"message\":{},\"toolResults\":[]}\n{\"type\":\"agent_end\",\"messages\":[]}\n"
  "{\"type\":\"agent_settled\"}\n";
static void nap(double seconds) {
  struct timespec time = {(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)};
  nanosleep(&time, 0);
}
static void put(const char *text) { if (write(1, text, strlen(text)) < 0) _exit(1); }
int main(void) {
  const char *given = getenv("BENCH_SECONDS"), *rate = getenv("BENCH_RATE");
  double seconds = given ? atof(given) : 0;
  put(opening);
  if (rate) for (int left = (int)(seconds * atof(rate)); left > 0; left--) { put(update); nap(1 / atof(rate)); }
  else if (seconds) nap(seconds);
  put(closing);
  return 0;
}
"""


def build(folder: Path) -> Path:
    """Compile the agent. Raises FileNotFoundError or CalledProcessError where there is no C compiler."""
    source, program = folder / "agent.c", folder / "agent"
    source.write_text(_SOURCE)
    subprocess.run(["gcc", "-static", "-O2", "-w", "-o", program, source], check=True)
    return program


def agent(program: Path, **env: object) -> Agent:
    """The agent with its variables, and with no folder of its own: what the user keeps in it is no matter here."""
    none = {"PI_CODING_AGENT_DIR": str(program.with_name("no-folder"))}
    return Agent(command=(str(program),), env={**none, **{name: str(value) for name, value in env.items()}})


def spec(store: RunStore, agent: Agent, cwd: Path) -> AttemptSpec:
    """An attempt of a new run."""
    run = store.create(b"hello")
    return AttemptSpec(
        folder=run.attempt(1), run_id=run.run_id, n=1, agent=agent, model=MODEL, cwd=cwd, prompt=b"hello"
    )
