"""Following a file that another process writes."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Self
from weakref import WeakKeyDictionary

from atomic.framing.facts import Record
from atomic.framing.framer import Framer
from atomic.regular import open_regular

# Bytes read at once: larger chunks fall out of the processor's cache, smaller ones cost more calls.
CHUNK_SIZE = 256 * 1024
# Seconds between looks at the files: quick enough for people, and nearly free when one ticker serves all sessions.
TICK = 0.05


class Follower:
    """Reads what has grown since, and no more than a chunk at once, so that many can share an event loop.

    The file must exist. Raises OSError as reading files does. Close it, or use it as a context manager. Until then it
    holds what was written, even where somebody has removed or replaced the file meanwhile.
    """

    def __init__(self, path: Path, framer: Framer) -> None:
        self.framer = framer
        self.more = False  # whether bytes were left behind by the last poll: poll again without waiting for a tick
        self._file = open_regular(path)
        self._at = 0

    def poll(self) -> list[Record]:
        """The records that the next chunk completes; none when the file has not grown."""
        chunk = os.read(self._file.fileno(), CHUNK_SIZE)
        if not chunk and os.fstat(self._file.fileno()).st_size < self._at:
            # Somebody emptied it. Its writer appends, so that what it writes from now on begins at the beginning.
            self._at = os.lseek(self._file.fileno(), 0, os.SEEK_SET)
            chunk = os.read(self._file.fileno(), CHUNK_SIZE)
        self._at += len(chunk)
        self.more = len(chunk) == CHUNK_SIZE
        return self.framer.feed(chunk) if chunk else []

    def end(self) -> list[Record]:
        """The records in the unfinished last line, the writer being gone and all of the file polled."""
        return self.framer.close()

    def fileno(self) -> int:
        """The descriptor of the open file."""
        return self._file.fileno()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Ticker:
    """One clock for all that is followed in an event loop: everybody who waits wakes at the same tick.

    It runs only while somebody waits, as a timer of the loop and not as a task: nothing is left of it otherwise.
    """

    def __init__(self) -> None:
        self._waiters: set[asyncio.Future[None]] = set()
        self._timer: asyncio.TimerHandle | None = None

    @classmethod
    def current(cls) -> Ticker:
        """The running loop's."""
        loop = asyncio.get_running_loop()
        if (ticker := _TICKERS.get(loop)) is None:
            ticker = _TICKERS[loop] = cls()
        return ticker

    async def wait(self) -> None:
        """Until the next tick."""
        loop = asyncio.get_running_loop()
        if self._timer is None:
            now = loop.time()
            self._timer = loop.call_at(now - now % TICK + TICK, self._tick)
        waiter = loop.create_future()
        self._waiters.add(waiter)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)
            if not self._waiters and self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def _tick(self) -> None:
        self._timer = None
        waiters, self._waiters = self._waiters, set()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)


_TICKERS: WeakKeyDictionary[asyncio.AbstractEventLoop, Ticker] = WeakKeyDictionary()
