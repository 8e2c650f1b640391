"""Locks of the agent's: folders `auth.json.lock` and the like, which a killed agent leaves behind.

The agent locks with proper-lockfile: a folder beside the file, whose time is renewed while it is held. One that has not
been renewed for 10 s (30 s for keys) is removed by whoever wants it next; so an old one does no harm by itself, except
where it cannot be removed or its time lies in the future. Then the agent goes on without its stored keys, in silence.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from atomic.agent import Agent
from atomic.models.agent_folder import agent_folder
from flows.doctor.findings import Finding, fail, ok, warn

ABOUT = "agent locks"
LOCKED = ("auth.json", "settings.json", "trust.json")
STALE = 30.0  # seconds without renewal after which nobody holds a lock any more
SKEW = 5.0  # seconds by which a file system's clock may go ahead of ours


def check_locks(agent: Agent) -> list[Finding]:
    """The locks in the agent's own folder."""
    folder = agent_folder(agent.env, agent.command)
    found = [lock for name in LOCKED if os.path.lexists(lock := _lock(folder / name))]
    return [judge(lock, time.time()) for lock in found]


def judge(lock: Path, now: float) -> Finding:
    """What a lock means at this time (seconds since the epoch)."""
    try:
        age = now - lock.lstat().st_mtime
        held = next(lock.iterdir(), None) is not None if lock.is_dir() else True
    except OSError as error:
        return warn(ABOUT, f"{lock}: {(error.strerror or str(error)).lower()}", "see who owns it")
    to_do = f"when no agent runs: rm -r '{lock}'"
    if held:
        what = f"{lock} is not the empty folder it should be: the agent can neither take nor remove it"
        return fail(ABOUT, what, to_do)
    if age < -SKEW:
        return fail(ABOUT, f"{lock} is dated {-age:.0f} s in the future: the agent takes it for held until then", to_do)
    if age < STALE:
        return ok(ABOUT, f"{lock} is held: an agent is reading or writing there right now")
    what = f"{lock} was left by an agent that was killed; the next one removes it, but two at once may collide over it"
    return warn(ABOUT, what, to_do)


def _lock(file: Path) -> Path:
    """The lock of a file: beside what a link leads to, where the file is one."""
    return Path(f"{os.path.realpath(file)}.lock") if file.name == "auth.json" else Path(f"{file}.lock")
