"""What has been seen of a stream so far: the memory of the fold, and the questions that can be asked of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from atomic.verdict.signs import Said, Sign
from atomic.verdict.tally import Tally

# The first cause of a run is the one that counts; a run that errs without end must not fill the memory.
_MOST_ERRORS = 32


class WaitKind(StrEnum):
    """Why the agent is silent although nothing is wrong."""

    RETRY = "retry"  # it waits `seconds` before it asks the provider again
    COMPACTION = "compaction"  # it shortens its context: the provider's time
    SUMMARY_RETRY = "summary_retry"  # it waits `seconds` before it asks for the summary again
    SUMMARY = "summary"  # it asks for the summary again: the provider's time
    FALLBACK = "fallback"  # it moves to another model by itself


@dataclass(frozen=True, slots=True)
class AnnouncedWait:
    """A silence that the agent announced. It is not idleness."""

    kind: WaitKind
    seconds: float  # announced delay; 0.0 where the silence is the provider's time
    since: float  # by the clock of whoever feeds the fold


@dataclass(frozen=True, slots=True)
class OpenTool:
    """A tool that runs. `since` is by the clock of whoever feeds the fold."""

    name: str
    since: float


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer's text, who gave it, and the record that holds it."""

    text: str
    model: str | None
    response_model: str | None
    at: Sign


@dataclass(slots=True)
class Seen:
    """The memory of the fold. Every field is about the stream so far."""

    session_id: str | None = None
    lifecycle: bool = False  # a record of an agent's life, not only a header
    latest: Sign | None = None  # the last record of a known type
    first_unknown: Sign | None = None
    unknown: dict[str, None] = field(default_factory=dict)  # types nobody knows, in order of appearance
    modern: bool = False  # messages open as `pending`: such an agent always says agent_settled

    agent_starts: int = 0
    agent_ends: int = 0
    turns: int = 0
    ever_settled: bool = False
    settled: bool = False  # and nothing has begun since
    settled_aborted: bool = False

    last: Said | None = None  # the last assistant message that has ended
    opened: Sign | None = None  # an assistant message that has begun and not ended
    prompted: bool = False  # a prompt has come since the last assistant message
    resumed: bool = False  # a run or turn has begun since the last assistant message
    pieces: list[str] = field(default_factory=list)  # texts cut by the output limit that the next message goes on with
    last_model: str | None = None
    first_model: str | None = None

    errors: list[Sign] = field(default_factory=list)  # of the low-level run now on, in order
    retry: Sign | None = None  # announced, and not yet followed by a message
    retry_cancelled: Sign | None = None
    final_error: Sign | None = None  # the last error an event names after the last assistant message
    overflow: Sign | None = None  # unresolvedOverflow, and no clean message since
    overflow_answer: Answer | None = None  # what had been answered in full when it came
    ever_overflow: bool = False

    open_tools: dict[str, OpenTool] = field(default_factory=dict)
    results: dict[str, str] = field(default_factory=dict)  # texts of the tool results since the last assistant message
    tool_calls: int = 0
    failed_tool_calls: int = 0

    wait: AnnouncedWait | None = None
    retries: int = 0
    compactions: int = 0
    compacting: bool = False
    compacted: bool = False  # since the last assistant message
    degraded: bool = False
    inner_fallbacks: int = 0
    going_on: bool = False  # a retry, a continuation or a fallback is announced that has not begun

    spent: Tally = field(default_factory=Tally)
    compaction_spent: Tally = field(default_factory=Tally)

    def spent_with(self, told: object) -> Tally:
        """What was spent, with the usage `told` last of the message that has begun and not ended, if there is one."""
        return self.spent if self.opened is None else self.spent.and_open(told)

    def begin(self) -> None:
        """Something begins: what had settled has not."""
        self.settled = self.settled_aborted = False
        self.resumed = True
        self.wait = None

    def err(self, found: Sign) -> None:
        """An error of the low-level run now on."""
        if found.text and len(self.errors) < _MOST_ERRORS:
            self.errors.append(found)

    @property
    def ended(self) -> bool:
        """Whether the last low-level run has closed and nothing was announced after it.

        An agent that always says ``agent_settled`` is not taken at its ``agent_end`` unless it has answered: its
        retries and fallbacks may come without an announcement.
        """
        if self.last is None or self.opened or self.prompted or self.compacting or self.going_on or self.open_tools:
            return False
        closed = 0 < self.agent_starts <= self.agent_ends
        return closed and (not self.modern or (self.last.stop == "stop" and bool(self.last.text.strip())))
