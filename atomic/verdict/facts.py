"""What a verdict is made of: frozen facts, with the names that every JSON output uses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import PydanticSerializationError

from atomic.failures import FailureKind


class Status(StrEnum):
    """What an attempt, a run or an item came to."""

    ANSWERED = "answered"
    FAILED = "failed"


class StopReason(StrEnum):
    """Why the runner itself stopped a session; None in a verdict's inputs when the session ended by itself."""

    STARTUP = "startup"  # no first byte within limits.startup → stalled
    IDLE = "idle"  # silence beyond limits.idle → stalled
    TOOL = "tool"  # one tool beyond limits.tool → stalled
    TOTAL = "total"  # → timeout
    TURNS = "turns"  # → budget
    TOKENS = "tokens"  # → budget
    COST = "cost"  # → budget
    CANCELLED = "cancelled"  # somebody asked → cancelled
    SETTLED = "settled"  # it had ended but its process stayed: no failure by itself
    ORPHANED = "orphaned"  # found after its parent died, the process gone → interrupted when the stream is unfinished


class Facts(BaseModel):
    """Base of all frozen facts. Unknown fields are kept: a record of a newer version survives a round trip."""

    model_config = ConfigDict(frozen=True, extra="allow", populate_by_name=True, ser_json_inf_nan="null")

    def model_dump_json(self, **options: Any) -> str:
        """As pydantic's, also where a text holds lone surrogates, as agents write them: then all in ASCII escapes."""
        try:
            return super().model_dump_json(**options)
        except PydanticSerializationError:
            indent = options.pop("indent", None)
            options.pop("ensure_ascii", None)
            return json.dumps(self.model_dump(mode="json", **options), indent=indent)


class Usage(Facts):
    """Tokens, summed over assistant ``message_end`` records (and toolResult messages that carry usage), and of a last
    message that never ended as its updates told: a lower bound, since the planner's and subagents' costs are in no
    event. ``cost_usd`` is None where nobody knows it."""

    input: int = 0
    output: int = 0
    cache_read: int = Field(default=0, alias="cacheRead")
    cache_write: int = Field(default=0, alias="cacheWrite")
    cost_usd: float | None = None

    @property
    def tokens(self) -> int:
        """All tokens: input, output, cache read and cache written."""
        return self.input + self.output + self.cache_read + self.cache_write


class Evidence(Facts):
    """The record that decided: its event type, line (from 1), byte offset, and the text that was read as a sign."""

    event: str
    line: int
    offset: int
    text: str = ""


class CheckOutcome(StrEnum):
    """What the policy's checks said of an answer."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"  # → rejected
    CANCELLED = "cancelled"  # somebody asked while it was at work → cancelled
    BROKEN = "broken"  # the check itself cannot be carried out, whatever the answer is → configuration


class CheckReport(Facts):
    """What the checks said. ``output`` is the text that the next model is told, cleaned and cut to its both ends."""

    outcome: CheckOutcome
    message: str = ""
    output: str = ""
    seconds: float = 0


class Verdict(Facts):
    """What an attempt came to, why, and all that the stream told on the way."""

    status: Status
    kind: FailureKind | None = None
    message: str = ""
    answer: str | None = None
    complete: bool = False  # a failed attempt that nevertheless holds a whole answer (overflow after it)
    answered_by: str | None = None  # provider/model of the message that answered
    response_model: str | None = None  # where the provider names another
    retry_at: float | None = None  # seconds since the epoch
    evidence: tuple[Evidence, ...] = ()
    usage: Usage = Usage()
    compaction_usage: Usage | None = None
    cost_usd: float | None = None
    turns: int = 0
    tool_calls: int = 0
    failed_tool_calls: int = 0
    retries: int = 0
    compactions: int = 0
    degraded: bool = False  # the agent threw its context away (compaction rung "fresh")
    inner_fallbacks: int = 0
    settled: bool = False
    unresolved_overflow: bool = False
    exit_code: int | None = None
    stopped: StopReason | None = None
    records: int = 0
    noise: int = 0
    torn: int = 0  # bytes of a torn last line
    unknown_types: tuple[str, ...] = ()
    session_id: str | None = None
    first_event_at: float | None = None  # seconds since the epoch, by the parent's clock; None when read afterwards
    first_token_at: float | None = None
    warnings: tuple[str, ...] = ()
    check: CheckReport | None = None  # None: the stream's word alone

    @property
    def answered(self) -> bool:
        """Whether the prompt was answered."""
        return self.status is Status.ANSWERED

    def warned(self, *warnings: str) -> Verdict:
        """The same verdict with these warnings too."""
        return self.model_copy(update={"warnings": (*self.warnings, *warnings)}) if warnings else self

    def moved(self, offsets: Mapping[int, int]) -> Verdict:
        """The same verdict on a stream whose lines begin elsewhere now: ``offsets`` by line number."""
        evidence = [one.model_copy(update={"offset": offsets.get(one.line, one.offset)}) for one in self.evidence]
        return self.model_copy(update={"evidence": tuple(evidence)})

    @property
    def partial(self) -> bool:
        """Whether a failed attempt holds text all the same: cut by the output limit, or followed by an overflow."""
        return not self.answered and self.answer is not None


ExitCode = int | None
Leftover = Literal["kill", "keep"]
