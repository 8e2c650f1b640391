"""What a recovery found and did."""

from __future__ import annotations

from typing import Literal

from atomic.record.facts import RunRecord
from atomic.verdict.facts import Facts

Adopt = Literal["stop", "follow"]


class Ended(Facts):
    """Processes of dead owners that a recovery ended."""

    agents: int = 0
    tools: int = 0
    survived: int = 0  # hang in the kernel, or may not be signalled

    def __add__(self, other: Ended) -> Ended:
        return Ended(
            agents=self.agents + other.agents,
            tools=self.tools + other.tools,
            survived=self.survived + other.survived,
        )


class RecoveredRun(Facts):
    """One run that was brought to its end. ``run`` is what its ``run.json`` says now."""

    run: RunRecord
    folder: str
    ended: Ended = Ended()


class Recovered(Facts):
    """What one recovery came to."""

    runs: tuple[RecoveredRun, ...] = ()
    removed: int = 0  # runs that a kill left half made, nothing of them begun
    moved: int = 0  # finished runs that had waited to be moved to where they are kept
    workspaces: int = 0  # of runs that are over, removed
    failures: tuple[str, ...] = ()  # what could not be recovered, moved or removed, and why

    @property
    def ended(self) -> Ended:
        """The processes that were ended, of all runs together."""
        return sum((found.ended for found in self.runs), Ended())

    def sentence(self) -> str:
        """All of it in one line for people; empty when there was nothing."""
        parts = [_runs(self.runs)] if self.runs else []
        if self.moved:
            parts.append(f"moved {_count(self.moved, 'finished run')} to the records")
        if self.workspaces:
            parts.append(f"removed {_count(self.workspaces, 'workspace')}")
        if self.failures:
            rest = f" (and {len(self.failures) - 1} more)" if len(self.failures) > 1 else ""
            parts.append(f"could not do all: {self.failures[0]}{rest}")
        text = "; ".join(parts)
        return f"{text[0].upper()}{text[1:]}." if text else ""


def _runs(found: tuple[RecoveredRun, ...]) -> str:
    answered = sum(one.run.status == "answered" for one in found)
    outcomes = [f"{answered} {'was' if answered == 1 else 'were'} answered"] if answered else []
    if answered < len(found):
        outcomes.append(f"{len(found) - answered} interrupted")
    text = f"found {_count(len(found), 'run')} cut off by a kill: {', '.join(outcomes)}"
    ended = sum((one.ended for one in found), Ended())
    stopped = [_count(number, noun) for number, noun in ((ended.agents, "agent"), (ended.tools, "tool")) if number]
    if stopped:
        text += f"; stopped {' and '.join(stopped)}"
    if ended.survived:
        text += f"; {_count(ended.survived, 'process', 'processes')} would not end"
    return text


def _count(number: int, noun: str, plural: str | None = None) -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
