"""How measurements are taken and printed, the same for all."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

# A figure that misses its target by less than this is put down to the machine's other work.
NOISE_MARGIN = 0.10
MISSED = 3  # exit code of a benchmark that ran and missed a target; 1 is Python's own for one that broke


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. ``bound`` says on which side of the target it should be; None: it has no target."""

    name: str
    value: float
    unit: str
    target: float | None = None
    bound: Literal["at most", "at least"] = "at most"

    @property
    def missed(self) -> bool:
        """Whether the target is missed by more than the noise margin."""
        if self.target is None:
            return False
        if self.bound == "at most":
            return self.value > self.target * (1 + NOISE_MARGIN)
        return self.value < self.target * (1 - NOISE_MARGIN)

    @property
    def outcome(self) -> str:
        """pass, fail, or within the margin."""
        if self.target is None:
            return ""
        reached = self.value <= self.target if self.bound == "at most" else self.value >= self.target
        return "pass" if reached else "FAIL" if self.missed else "within noise"


def least_cpu(subjects: Mapping[str, Callable[[], object]], rounds: int = 7) -> dict[str, float]:
    """Seconds of CPU of each subject: the least of so many rounds, the subjects taking turns within a round."""
    least = dict.fromkeys(subjects, float("inf"))
    for _ in range(rounds):
        for name, subject in subjects.items():
            start = time.process_time()
            subject()
            least[name] = min(least[name], time.process_time() - start)
    return least


def report(title: str, rows: Sequence[Row]) -> int:
    """Print a table. Returns the exit code: MISSED when a target is missed."""
    out = sys.stdout
    width = max(len(row.name) for row in rows)
    out.write(f"{title} (noise margin {NOISE_MARGIN:.0%})\n")
    for row in rows:
        target = f"{row.bound} {row.target:g}{row.unit}" if row.target is not None else ""
        out.write(f"  {row.name:<{width}}  {row.value:>9.2f}{row.unit:<3} {target:<16} {row.outcome}\n")
    out.flush()
    return MISSED if any(row.missed for row in rows) else 0
