"""The processes that a dead owner left: found, followed to their end, or ended."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from atomic.framing import Framer
from atomic.processes import Kin, Steady, boot_id, find, is_alive, stop, sweep
from atomic.record.facts import AttemptRecord
from atomic.recovery.facts import Ended
from atomic.regular import open_regular
from atomic.session.watch import Watch
from atomic.verdict.facts import StopReason
from atomic.verdict.fold import VerdictFold

_POLL = 0.25  # seconds: nobody waits at a screen for an agent whose owner is dead
_READ_BYTES = 128 << 10


async def end_processes(attempt: AttemptRecord, steady: Steady) -> Ended:
    """End the agent of an attempt and all that belongs to it. What another boot wrote down is never signalled: the
    numbers stand for other processes now."""
    if attempt.boot_id is not None and attempt.boot_id != boot_id():
        return Ended()
    agent = attempt.process
    known = frozenset(attempt.descendants) | (frozenset((agent,)) if agent else frozenset())
    kin = Kin(attempt.marker, since=attempt.process_started or 0.0, seen=known)
    await steady.result(find(kin))  # before the agent goes: its children lose their parent with it
    agents = tools = 0
    if agent is not None and is_alive(agent):
        agents = int(await stop(agent, steady))
    swept = await sweep(kin, steady, may_stay=attempt.may_stay)
    tools = sum(process != agent for process in swept.ended)
    return Ended(agents=agents, tools=tools, survived=len(swept.survived))


async def follow(attempt: AttemptRecord, stream: Path) -> StopReason | None:
    """Wait for a running agent to come to its end. Returns why it is to be stopped, by the limits it was started with;
    None when it has ended by itself."""
    agent = attempt.process
    if agent is None or attempt.boot_id != boot_id() or not is_alive(agent):
        return None
    framer = Framer()
    fold = VerdictFold()
    # The time that passed before counts too, as far as the wall clock can tell.
    watch = Watch(attempt.limits, started=time.monotonic() - max(time.time() - attempt.started_at, 0.0))
    with open_regular(stream) as source:
        while True:
            alive = is_alive(agent)  # asked before reading: what it wrote last is read in any case
            while chunk := source.read(_READ_BYTES):
                now = time.monotonic()
                watch.grew(now)
                fold.feed(framer.feed(chunk), at=now)
                await asyncio.sleep(0)
            if not alive:
                return None
            usage = fold.usage_with(framer.sample_usage())
            reason = watch.check(time.monotonic(), fold, fold.open_tools.values(), usage)
            if reason is not None:
                return reason
            await asyncio.sleep(_POLL)
