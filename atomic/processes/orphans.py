"""Orphans: what loses its parent below an agent comes to this process, where it has asked the system for that (Linux).

A tool's daemon may clear its environment, leave its session and lose its parent before anybody has looked. Nothing
tells then whose it was; but it can come only from below a child of ours, and it began while some attempt's agent ran.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from atomic.processes.child import LAST_WAIT, Child
from atomic.processes.ids import SYSTEM, ProcessId
from atomic.processes.proc import Process

_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
_PAUSE = 0.01  # seconds between the rounds of the last look


class Attempt(Protocol):
    """What is known of an attempt's processes: :class:`atomic.processes.Kin`."""

    since: float
    seen: frozenset[ProcessId]


class Adoption:
    """Whose an orphan can be: an attempt's whose agent ran when it began, and has not ended."""

    def __init__(self) -> None:
        self._session = os.getsid(0)  # what is in it was started by ourselves: nothing below an agent can enter it
        self._live: list[Attempt] = []
        self._spared: set[ProcessId] = set()
        self._first = float("inf")  # when the first agent began: what is older was started by ourselves

    def enter(self, attempt: Attempt) -> None:
        """Its agent has been started."""
        if attempt.since:  # else it ended before anybody could look: what is known of it ends with its sweep
            self._live.append(attempt)
            self._first = min(self._first, attempt.since)

    def leave(self, attempt: Attempt, stay: Iterable[ProcessId]) -> None:
        """It has ended, and these are let be."""
        self._live = [each for each in self._live if each is not attempt]
        self._spared.update(stay)

    def reap(self, table: Mapping[int, Process]) -> None:
        """Let go of the dead orphans: this process is the one that has to."""
        for row in self._orphans(table):
            if row.zombie:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(row.pid, os.WNOHANG)

    def of(self, attempt: Attempt, table: Mapping[int, Process]) -> tuple[set[int], set[int]]:
        """The numbers of the living orphans that are this attempt's, and of those that may be another's as well. These
        are ended with the last attempt that they can belong to."""
        sure: set[int] = set()
        unsure: set[int] = set()
        for row in self._orphans(table):
            owners = [] if row.zombie else self._owners(row)
            if any(each is attempt for each in owners):
                (sure if len(owners) == 1 else unsure).add(row.pid)
        return sure, unsure

    def left(self) -> list[Process]:
        """The orphans there are now, whosever they were. Blocks."""
        return list(self._orphans(SYSTEM.processes()))

    def _owners(self, row: Process) -> list[Attempt]:
        process = ProcessId(row.pid, row.start_time)
        seen = [each for each in self._live if process in each.seen]
        return seen or [each for each in self._live if each.since <= row.start_time]

    def _orphans(self, table: Mapping[int, Process]) -> Iterator[Process]:
        own = os.getpid()
        for row in table.values():
            if (
                row.parent == own
                and row.session != self._session
                and row.start_time >= self._first
                and row.pid not in Child.numbers
                and ProcessId(row.pid, row.start_time) not in self._spared
            ):
                yield row


_adoption: Adoption | None = None


def adoption() -> Adoption | None:
    """What is in force now."""
    return _adoption


@contextlib.contextmanager
def adopting_orphans() -> Iterator[None]:
    """Within, whatever loses its parent below an agent of this process is found and ended, and nothing of it is left
    behind afterwards. For programs whose processes are all known to us: a child that is started meanwhile in a session
    of its own, by other means than :class:`Child`, would be taken for an orphan.

    Without effect where the system knows no such thing, and in the first process of a container, to which the orphans
    of everybody else come as well.
    """
    global _adoption  # noqa: PLW0603 - the system, too, keeps it for the whole process
    if _adoption is not None or os.getpid() == 1 or not _ask_system(on=True):
        yield
        return
    adopted = _adoption = Adoption()
    try:
        yield
    finally:
        _end(adopted)
        _adoption = None
        _ask_system(on=False)


def _ask_system(*, on: bool) -> bool:
    """Whether the system has taken note that orphans are to come to this process, or no longer."""
    if sys.platform != "linux":
        return False
    try:
        return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(on), 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


def _end(adopted: Adoption) -> None:
    """End what is left when no attempt lives any more: what came in the moment after its sweep. Bounded."""
    until = time.monotonic() + LAST_WAIT
    with contextlib.suppress(OSError):  # no descriptor is left to look with
        while (left := adopted.left()) and time.monotonic() < until:
            for row in left:  # what is below them comes next
                with contextlib.suppress(OSError):
                    os.kill(row.pid, signal.SIGKILL)  # unreaped, its number is its own
            adopted.reap({row.pid: row for row in left})
            time.sleep(_PAUSE)
