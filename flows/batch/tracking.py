"""What of a batch becomes task runs in Prefect, and how fast a batch is: pure."""

from __future__ import annotations

from collections import deque
from typing import Literal

Track = Literal["session", "shard", "auto"]
# A task run costs Prefect's server some 30 ms and an artifact as much: above this it falls behind the sessions.
MOST_TASKS = 4.0  # sessions a second that the server can take
WINDOW = 60.0  # seconds over which a rate is told
FEWEST = 20  # sessions from which on a rate says something


class Pace:
    """When the last sessions or items ended, in seconds of any one clock."""

    def __init__(self, window: float = WINDOW) -> None:
        self._window = window
        self._times: deque[float] = deque(maxlen=4096)

    def tick(self, now: float) -> None:
        """One has ended."""
        self._times.append(now)

    def rate(self, now: float) -> float | None:
        """How many end in a second, over the window; None where there are too few to tell."""
        while self._times and self._times[0] < now - self._window:
            self._times.popleft()
        if len(self._times) < FEWEST:
            return None
        return (len(self._times) - 1) / max(now - self._times[0], 1e-9)


def tracked(track: Track, rate: float | None) -> bool:
    """Whether the next session is to be a task of its own. ``rate``: sessions a second, None where not known."""
    if track == "auto":
        return rate is None or rate <= MOST_TASKS
    return track == "session"
