"""Ctrl-C and its kin while a run is on: the first one cancels it, further ones wait with us for the cleaning up."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Coroutine, Iterator
from types import FrameType
from typing import Any, TypeVar

from atomic.errors import EXIT_INTERRUPTED, EXIT_TERMINATED
from flows.cli.output import YELLOW, paint, say

T = TypeVar("T")
EXIT_CODES = {
    signal.SIGINT: EXIT_INTERRUPTED,
    signal.SIGTERM: EXIT_TERMINATED,
    signal.SIGHUP: EXIT_TERMINATED,  # the terminal is gone: as good as an order to end
}


class Stopped(Exception):
    """A signal ended the run, and what belonged to it has been cleaned up. ``code`` is the exit code it means."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


@contextlib.contextmanager
def first_signal(
    on_first: Callable[[signal.Signals], None], *, signals: tuple[signal.Signals, ...]
) -> Iterator[list[signal.Signals]]:
    """Within this the first of `signals` calls `on_first` in the running loop; those that came are in the list.

    From then on they are absorbed for as long as the process lives: an impatient second Ctrl-C must not tear the end
    of a clean-up. Signals that the process was started to ignore (nohup, a background job) stay ignored.
    """
    loop = asyncio.get_running_loop()
    caught: list[signal.Signals] = []

    # Not the loop's own handlers: those are gone with the loop, a moment before the process is.
    def on_signal(number: int, _frame: FrameType | None) -> None:
        if not caught:
            loop.call_soon_threadsafe(on_first, signal.Signals(number))
        caught.append(signal.Signals(number))

    before = {sign: signal.getsignal(sign) for sign in signals}
    watched = [sign for sign in signals if before[sign] is not signal.SIG_IGN]
    for sign in watched:
        signal.signal(sign, on_signal)
    try:
        yield caught
    finally:
        for sign in watched:
            signal.signal(sign, signal.SIG_IGN if caught else before[sign])


async def until_stopped(work: Coroutine[Any, Any, T], *, signals: tuple[signal.Signals, ...]) -> T:
    """What the work returns. The first of `signals` cancels it; when it has cleaned up, Stopped is raised. Further ones
    are absorbed, as by :func:`first_signal`."""
    task = asyncio.ensure_future(work)

    def stop(_: signal.Signals) -> None:
        say(paint("stopping the agent and its tools; the record is kept", YELLOW))
        task.cancel()

    with first_signal(stop, signals=signals) as caught:
        try:
            return await task
        except asyncio.CancelledError:
            if caught:
                raise Stopped(EXIT_CODES[caught[0]]) from None
            raise
