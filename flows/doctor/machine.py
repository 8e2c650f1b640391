"""The machine: who takes in the processes that tools leave behind.

An orphan goes to process 1, which has to reap it when it ends. A program that is process 1 of a container without
knowing it does not: dead processes pile up until none can be started.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import psutil

from flows.doctor.findings import Finding, ok, warn

ABOUT = "process 1"
TO_DO = "start the container with an init: docker run --init, `init: true` in compose, or tini as its entry point"
REAPERS = frozenset(
    {
        *("systemd", "init", "launchd", "tini", "tini-static", "dumb-init", "docker-init", "podman-init", "catatonit"),
        *("runit", "runsvdir", "s6-svscan", "supervisord", "openrc-init", "finit", "pause"),
        *("bash", "sh", "dash", "ash", "zsh", "busybox"),  # shells wait for whatever ends
    }
)


@dataclass(frozen=True, slots=True)
class First:
    """Process 1 as it is seen from here."""

    name: str
    ours: bool  # it is this very process
    dead: int  # processes of its that have ended and were not reaped


def check_machine() -> list[Finding]:
    """Whether process 1 reaps."""
    return [judge(_look())]


def judge(first: First) -> Finding:
    """What process 1 is good for."""
    if first.ours:
        what = "this is process 1 of a container: what the agent's tools leave behind is never reaped"
        return warn(ABOUT, what, TO_DO)
    if first.dead and first.name not in REAPERS:
        what = f"process 1 ({first.name}) does not reap: {first.dead} dead processes have piled up"
        return warn(ABOUT, what, TO_DO)
    sure = first.name in REAPERS
    return ok(ABOUT, f"{first.name} {'reaps what tools leave behind' if sure else 'has no dead processes to reap'}")


def _look() -> First:
    try:
        process = psutil.Process(1)
        name = process.name()
        dead = sum(child.status() == psutil.STATUS_ZOMBIE for child in process.children())
    except psutil.Error:  # not ours to look at: it is the system's
        return First("init", ours=False, dead=0)
    return First(name, ours=os.getpid() == 1, dead=dead)
