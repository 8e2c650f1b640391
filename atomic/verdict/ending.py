"""How a session came to its end."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from atomic.verdict.facts import StopReason
from atomic.verdict.signs import Sign

# Shells and Node report a child or handler killed by signal n as 128 + n; numbers above are ordinary exits.
_SIGNAL_BASE = 128
_LAST_SIGNAL = 31


@dataclass(frozen=True, slots=True)
class Ending:
    """How the stream and its process came to their end."""

    exit_code: int | None
    stderr: str = ""
    stopped: StopReason | None = None
    finished: bool = False  # settled, or closed in an agent that does not say so
    records: int = 0
    noise: Sign | None = None  # the first line that is no record

    @property
    def signal(self) -> int | None:
        """The number of the signal that ended the process, where one did."""
        code = self.exit_code
        if code is None:
            return None
        if code < 0:
            return -code
        return code - _SIGNAL_BASE if _SIGNAL_BASE < code <= _SIGNAL_BASE + _LAST_SIGNAL else None

    @property
    def by_itself(self) -> bool:
        """Whether the end is the agent's own, as far as anyone knows: its parent waited for it, and no signal came.

        A process that was stopped after it had settled counts: its exit code is the runner's doing.
        """
        return self.stopped is StopReason.SETTLED or self.signal is None

    def told(self) -> str:
        """The end in words."""
        number = self.signal
        if number is not None:
            try:
                return f"killed by {signal.Signals(number).name}"
            except ValueError:
                return f"killed by signal {number}"
        return "exit code unknown" if self.exit_code is None else f"exit code {self.exit_code}"
