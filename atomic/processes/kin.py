"""Who belongs to an attempt: what carries its marker, what was seen below its agent, and their children."""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from atomic.processes.child import Child
from atomic.processes.ids import SYSTEM, ProcessId
from atomic.processes.orphans import adoption
from atomic.processes.proc import Process

# Seconds between looks at the processes of live sessions: cheap where /proc can be read, so that even a tool that runs
# for a second is seen with what it started.
SAMPLE = 0.5 if SYSTEM.INLINE else 2.0
MARKER = "ATOMIC_FLOWS_ATTEMPT"  # the variable whose value names the attempt that a process belongs to

Table = Mapping[int, Process]

_ENTRY = b"\0" + MARKER.encode() + b"="


@dataclass(slots=True, eq=False)
class Kin:
    """The processes of one attempt, as far as they are known.

    ``since`` is the start time of the oldest: nothing that began before belongs to it. ``leader`` is the number of the
    agent while no other process can get it: then whatever is in its session belongs to it as well. ``seen`` holds
    those that ran when it was last looked for them.
    """

    marker: str
    since: float = 0.0
    leader: int | None = None
    seen: frozenset[ProcessId] = field(default_factory=frozenset)

    def members(self, table: Table, known: Collection[int]) -> list[Process]:
        """All that belong to it and run. ``known``: the numbers of those that carry the marker or are its orphans. This
        process and those it descends from never do, even where somebody recovers a run from inside an agent's tool."""
        first = {
            row.pid
            for row in table.values()
            if row.pid in known
            or (self.leader is not None and row.session == self.leader)
            or ProcessId(row.pid, row.start_time) in self.seen
        }
        family = with_descendants(table, first) - _ancestors(table)
        return [table[pid] for pid in family if not table[pid].zombie]

    def zombies(self, table: Table) -> list[int]:
        """The dead of it that this process inherited, as the first process of a container does, and has to reap."""
        own = os.getpid()
        return [
            row.pid
            for row in table.values()
            if row.zombie
            and row.parent == own
            and row.pid != self.leader
            and (row.session == self.leader or ProcessId(row.pid, row.start_time) in self.seen)
        ]


class Found(NamedTuple):
    """What one scan found of an attempt: members that run, the numbers of zombies that this process inherited,
    processes of anybody's that showed no environment, as one does in the moment in which it becomes another program,
    and orphans that belong to this attempt or to another that runs."""

    members: list[Process]
    zombies: list[int]
    unsure: frozenset[ProcessId]
    shared: frozenset[ProcessId] = frozenset()


_asked: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, list[tuple[Kin, asyncio.Future[Found]]]]
_asked = weakref.WeakKeyDictionary()


def find(kin: Kin) -> asyncio.Future[Found]:
    """Look for its members, and bring ``kin.seen`` up to date. All that ask before the loop comes round again share
    one scan. The future fails with OSError where the system has no descriptor left to look with."""
    loop = asyncio.get_running_loop()
    if loop not in _asked:
        _asked[loop] = []
        loop.call_soon(_scan, loop)
    future: asyncio.Future[Found] = loop.create_future()
    _asked[loop].append((kin, future))
    return future


def _scan(loop: asyncio.AbstractEventLoop) -> None:
    asked = _asked.pop(loop)
    since = min(kin.since for kin, _ in asked)
    markers = {kin.marker for kin, _ in asked}
    agents = frozenset(Child.numbers)  # an attempt's own agent is seen from its beginning
    if SYSTEM.INLINE:
        try:
            _answer(asked, _look(since, markers, agents))
        except OSError as error:
            _refuse(asked, error)
        return

    def looked(scan: asyncio.Future[_Seen]) -> None:
        error = scan.exception()
        if error is None:
            _answer(asked, scan.result())
        else:
            _refuse(asked, error)

    loop.run_in_executor(None, _look, since, markers, agents).add_done_callback(looked)


class _Seen(NamedTuple):
    """One scan: the table, the numbers of the processes that carry each marker, those that showed no environment."""

    table: Table
    marked: dict[str, set[int]]
    unsure: frozenset[ProcessId]


def _look(since: float, markers: Collection[str], known: Collection[int]) -> _Seen:
    """Scan. ``known``: the processes whose marker need not be read. A zombie has none left."""
    table = SYSTEM.processes(since)
    found: dict[str, set[int]] = {marker: set() for marker in markers}
    unsure = set()
    for pid, row in table.items():
        if row.zombie or pid in known:
            continue
        environment = SYSTEM.environment(pid)
        if environment:
            found.get(_marker(environment), set()).add(pid)
        elif environment is not None:
            unsure.add(ProcessId(pid, row.start_time))
    return _Seen(table, found, frozenset(unsure))


def _marker(environment: bytes) -> str:
    """The marker in an environment; empty when there is none."""
    _, entry, rest = (b"\0" + environment).partition(_ENTRY)
    return os.fsdecode(rest.partition(b"\0")[0]) if entry else ""


def _answer(asked: list[tuple[Kin, asyncio.Future[Found]]], seen: _Seen) -> None:
    adopted = adoption()
    if adopted is not None:
        adopted.reap(seen.table)
    for kin, future in asked:
        own, shared = (set[int](), set[int]()) if adopted is None else adopted.of(kin, seen.table)
        members = kin.members(seen.table, seen.marked[kin.marker] | own)
        zombies = kin.zombies(seen.table) if adopted is None else []
        kin.seen = frozenset(ProcessId(row.pid, row.start_time) for row in members)
        others = frozenset(ProcessId(pid, seen.table[pid].start_time) for pid in shared) - kin.seen
        if not future.done():
            future.set_result(Found(members, zombies, seen.unsure - kin.seen, others))


def _refuse(asked: list[tuple[Kin, asyncio.Future[Found]]], error: BaseException) -> None:
    for _, future in asked:
        if not future.done():
            future.set_exception(error)


def descendants(pid: int) -> list[ProcessId]:
    """The children of a process, their children, and so on: those that run now and still have their parents."""
    table = SYSTEM.processes()
    below = with_descendants(table, {pid}) - {pid}
    return [ProcessId(row.pid, row.start_time) for row in map(table.__getitem__, below) if not row.zombie]


def marked(markers: Iterable[str]) -> dict[str, list[ProcessId]]:
    """The running processes that carry each marker in their environment, as far as that may be read. Blocks."""
    table, found, _ = _look(0, tuple(markers), ())
    return {
        marker: [ProcessId(pid, table[pid].start_time) for pid in sorted(numbers)] for marker, numbers in found.items()
    }


def living_markers() -> dict[str, int]:
    """How many running processes carry each marker there is, as far as their environments may be read. Blocks."""
    found: dict[str, int] = {}
    for pid, row in SYSTEM.processes().items():
        marker = "" if row.zombie else _marker(SYSTEM.environment(pid) or b"")
        if marker:
            found[marker] = found.get(marker, 0) + 1
    return found


def with_descendants(table: Table, first: Collection[int]) -> set[int]:
    """The numbers given, as far as the table has them, and those of all below them."""
    family = {pid for pid in first if pid in table}
    if not family:
        return family
    below: dict[int, list[int]] = {}
    for row in table.values():
        below.setdefault(row.parent, []).append(row.pid)
    unseen = list(family)
    while unseen:
        fresh = [pid for pid in below.get(unseen.pop(), ()) if pid not in family]
        family.update(fresh)
        unseen += fresh
    return family


def _ancestors(table: Table) -> set[int]:
    """This process and those above it, as far as the table has them."""
    above: set[int] = set()
    pid = os.getpid()
    while pid in table and pid not in above:
        above.add(pid)
        pid = table[pid].parent
    return above
