"""A session while its agent runs: follows the stream, watches the limits, sees what processes there are, tells how it
stands. All of it happens on the ticks of one clock that all sessions of a loop share."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable

from atomic.errors import AtomicError
from atomic.framing import Follower, Framer, Ticker
from atomic.framing.follow import TICK
from atomic.processes import SAMPLE, Child, Found, Kin, ProcessId, Steady, adoption, find
from atomic.record.facts import AttemptRecord
from atomic.session.facts import AttemptSpec, Phase, Progress
from atomic.session.watch import Watch
from atomic.text import Masker
from atomic.verdict.facts import StopReason, Usage
from atomic.verdict.fold import VerdictFold
from atomic.verdict.seen import WaitKind

TELL = 0.25  # seconds between two tellings of progress, and between two looks at the usage of a message in flight
_WAITING: dict[WaitKind, Phase] = {
    WaitKind.RETRY: "retrying",
    WaitKind.FALLBACK: "retrying",
    WaitKind.COMPACTION: "compacting",
    WaitKind.SUMMARY_RETRY: "compacting",
    WaitKind.SUMMARY: "compacting",
}


class Live:
    """One live session. ``over`` is done when it is to be stopped (with the reason) or has ended by itself (None); it
    fails when the following does."""

    def __init__(
        self,
        spec: AttemptSpec,
        record: AttemptRecord,
        masker: Masker,
        on_progress: Callable[[Progress], None] | None,
    ) -> None:
        """Open the stream. Raises OSError."""
        loop = asyncio.get_running_loop()
        self.record = record
        self.masker = masker
        self.over: asyncio.Future[StopReason | None] = loop.create_future()
        self.framer = Framer()
        self.fold = VerdictFold()
        self.kin = Kin(spec.marker)
        self.first_event_at: float | None = None
        self.first_token_at: float | None = None
        self.stopping = False
        self.checking = False
        self._spec = spec
        self._loop = loop
        self._on_progress = on_progress
        self._follower = Follower(spec.folder.stream, self.framer)
        self._watch = Watch(spec.limits, loop.time())
        self._budgeted = bool(spec.limits.tokens or spec.limits.cost_usd)
        self._usage = Usage()
        self._counted_at = 0.0
        self._told: tuple[object, ...] = ()
        self._next_look = 0.0
        self._tools = 0
        self._start: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    def begin(self, child: Child) -> None:
        """Watch over this child from now on, and note whose process it is."""
        self.kin.since = child.id.start_time
        self.kin.leader = child.pid if child.keeps_number else None
        self.kin.seen = frozenset((child.id,))
        if (adopted := adoption()) is not None:
            adopted.enter(self.kin)
        self.record = self.record.model_copy(update={"pid": child.pid, "process_started": child.id.start_time})
        self._next_look = self._loop.time() + SAMPLE
        child.exited.add_done_callback(self._ended)
        # A session that ends before the first tick needs no following: it is read once, at its end.
        self._start = self._loop.call_later(TICK, self._start_following)

    def leave(self) -> None:
        """No longer watch; the stream can still be read to its end."""
        if self._start is not None:
            self._start.cancel()
            self._start = None
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def close(self) -> None:
        """Let go of the stream."""
        self.leave()
        self.over.cancel()
        self._follower.close()

    async def read_to_end(self, steady: Steady) -> None:
        """Read what the agent wrote last, whatever its size."""
        self.leave()
        self._read()
        while self._follower.more:
            await steady.sleep(0)
            self._read()
        self.fold.feed(self._follower.end(), at=self._loop.time())

    @property
    def stream(self) -> int:
        """The descriptor by which the agent's stream was read: what it wrote, whatever became of the file."""
        return self._follower.fileno()

    def check(self) -> None:
        """From now on the answer is being checked."""
        self.checking = True
        self._tell(self._loop.time())

    def note(self, process: ProcessId) -> None:
        """Note a process that is not the agent's, for whoever has to clean up if this one is killed; where it cannot be
        noted, the marker finds it."""
        self.record = self.record.model_copy(update={"descendants": (*self.record.descendants, process)})
        with contextlib.suppress(AtomicError):
            self._spec.folder.write(self.record)

    def descendants(self) -> tuple[ProcessId, ...]:
        """The processes that were seen below the agent."""
        return tuple(sorted((each for each in self.kin.seen if each.pid != self.record.pid), key=lambda each: each.pid))

    def _start_following(self) -> None:
        self._task = self._loop.create_task(self._follow())
        self._task.add_done_callback(self._follow_ended)

    async def _follow(self) -> None:
        ticker = Ticker.current()
        while True:
            self._read()
            while self._follower.more:
                await asyncio.sleep(0)
                self._read()
            self._look(self._loop.time())
            await ticker.wait()

    def _read(self) -> None:
        now = self._loop.time()
        stats = self.framer.stats
        before = stats.bytes
        self.fold.feed(self._follower.poll(), at=now)
        if stats.bytes == before:
            return
        self._watch.grew(now)
        if self.first_event_at is None and stats.records:
            self.first_event_at = time.time()
        if self.first_token_at is None and stats.first_update_offset is not None:
            self.first_token_at = time.time()

    def _look(self, now: float) -> None:
        tools = self.fold.open_tools
        if now >= self._next_look or len(tools) > self._tools:
            # The same times for all sessions, so that they share a scan.
            self._next_look = now - now % SAMPLE + SAMPLE
            find(self.kin).add_done_callback(self._found)
        self._tools = len(tools)
        if now - self._counted_at >= TELL and (self._budgeted or self._on_progress is not None):
            self._counted_at = now
            self._usage = self.fold.usage_with(self.framer.sample_usage())
            self._tell(now)
        reason = self._watch.check(now, self.fold, tools.values(), self._usage)
        if reason is not None and not self.over.done():
            self.over.set_result(reason)

    def _tell(self, now: float) -> None:
        if self._on_progress is None:
            return
        fold = self.fold
        stands = (self._usage, fold.turns, fold.tool, fold.retries, fold.compactions, self._phase(), fold.last_model)
        size = self.framer.stats.bytes
        if (*stands, size) == self._told:
            return
        self._told = (*stands, size)
        usage, turns, tool, retries, compactions, phase, model = stands
        self._on_progress(
            Progress(
                n=self._spec.n,
                model=self.record.model if model is None else self.masker.data(model),
                seconds=now - self._watch.started,
                usage=usage,
                turns=turns,
                tool=None if tool is None else self.masker.data(tool),
                retries=retries,
                compactions=compactions,
                phase=phase,
                bytes=size,
            )
        )

    def _phase(self) -> Phase:
        fold = self.fold
        if self.checking:
            return "checking"
        if self.stopping:
            return "stopping"
        if fold.settled or fold.ended:
            return "settling"
        if fold.tool is not None:
            return "tool"
        if fold.announced_wait is not None:
            return _WAITING[fold.announced_wait.kind]
        return "thinking" if self.framer.stats.bytes else "starting"

    def _found(self, look: asyncio.Future[Found]) -> None:
        """Note the processes seen, for whoever has to clean up if this process is killed. That they cannot be looked
        at or noted ends no session: the next look may succeed, and the marker finds most of them anyhow."""
        if look.cancelled() or look.exception() is not None or self._task is None:
            return
        # Those that may be another attempt's as well: if this process is killed, so are all that could own them.
        seen = tuple(sorted({*self.descendants(), *look.result().shared}, key=lambda each: each.pid))
        if seen != self.record.descendants:
            self.record = self.record.model_copy(update={"descendants": seen})
            with contextlib.suppress(AtomicError):
                self._spec.folder.write(self.record)

    def _ended(self, _: asyncio.Future[int | None]) -> None:
        if not self.over.done():
            self.over.set_result(None)

    def _follow_ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None and not self.over.done():
            self.over.set_exception(error)
