"""Ending a batch before its time: whoever may do so holds a Stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from flows.batch.facts import Ending

TERMINATED = "it was terminated"  # why an edition stopped: by no wish of anybody's for the batch
# drain: no item begins. finish: no session begins. now: live sessions are stopped, too.
How = Literal["drain", "finish", "now"]
_STRENGTH: dict[How, int] = {"drain": 1, "finish": 2, "now": 3}


class Stop:
    """Says once why a batch ends; how may get stronger, never weaker. It can be told before the batch has begun."""

    def __init__(self) -> None:
        self.ending: Ending | None = None
        self.reason = ""
        self.how: How | None = None
        self._listener: Callable[[How], None] | None = None

    def __call__(self, ending: Ending, how: How, reason: str) -> None:
        """End the batch."""
        if self.ending is None:
            self.ending, self.reason = ending, reason
        if self.how is None or _STRENGTH[how] > _STRENGTH[self.how]:
            self.how = how
            if self._listener is not None:
                self._listener(how)

    def listen(self, listener: Callable[[How], None]) -> None:
        """Who is told from now on; at once where it has been said before."""
        self._listener = listener
        if self.how is not None:
            listener(self.how)
