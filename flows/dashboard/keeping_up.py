"""The history kept in line with the records while somebody looks: some runs were killed before they could tell it."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator

from atomic.errors import AtomicError
from flows.dashboard.sources import Sources
from flows.history.catching_up import catch_up

EVERY = 15.0  # seconds: a run tells the history itself, this is for those that were killed
SHARE = 20  # a catch-up that takes long, on a slow place, is no more than this part of the time
GRACE = 1.0  # seconds for it when the dashboard ends; what was not read is read the next time
UNSEEN = 1.0  # seconds between two looks whether somebody has come
_log = logging.getLogger(__name__)


@contextlib.contextmanager
def keeping_up(sources: Sources, looked_at: Callable[[], bool]) -> Iterator[None]:
    """Within this a thread catches up, once at the beginning and again and again while ``looked_at``."""
    stopping = threading.Event()
    thread = threading.Thread(target=keep_up, args=(sources, looked_at, stopping), daemon=True, name="catching up")
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join(GRACE)


def keep_up(sources: Sources, looked_at: Callable[[], bool], stopping: threading.Event) -> None:
    """Catch up until ``stopping``; what goes wrong is said once, and the next time it may not."""
    said = ""
    rest = 0.0
    while not stopping.wait(rest):
        if rest and not looked_at():
            rest = UNSEEN
            continue
        begun = time.monotonic()
        try:
            catch_up(sources.database, sources.store, sources.masker())
        except AtomicError as error:
            if error.message != said:
                _log.warning("the history could not catch up with the records: %s", error.message)
            said = error.message
        rest = max(EVERY, SHARE * (time.monotonic() - begun))
