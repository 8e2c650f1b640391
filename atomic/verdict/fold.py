"""The fold: records in, a verdict out. It never raises, whatever the records hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from atomic.verdict import fields
from atomic.verdict.answers import full_answer, starts_over
from atomic.verdict.assemble import assemble
from atomic.verdict.decide import Ending, decide
from atomic.verdict.facts import StopReason, Usage, Verdict
from atomic.verdict.seen import AnnouncedWait, OpenTool, Seen, WaitKind
from atomic.verdict.signs import Sign, model_name, said, sign

if TYPE_CHECKING:
    from atomic.framing import Record, StreamStats

# Before and around the agent's work: a stream of nothing else has sent no prompt.
_PREAMBLE = frozenset(
    {"session", "session_info_changed", "model_changed", "thinking_level_changed", "queue_update", "entry_appended"}
)
# The first cause of a run is the one that counts; a run that errs without end must not fill the memory.
_MOST_ERRORS = 32
_CANCELLED_RETRY = "retry cancelled"


class VerdictFold:
    """Reads the records of one session as they come. Feed it every record, then ask for the verdict.

    While the session runs, the properties say what a watchdog has to know.
    """

    def __init__(self) -> None:
        self._seen = Seen()
        self._now = 0.0
        self._handlers: dict[str, Callable[[Record], None]] = {
            "session": self._session,
            "agent_start": self._agent_start,
            "agent_end": self._agent_end,
            "agent_settled": self._agent_settled,
            "turn_start": self._turn_start,
            "message_start": self._message_start,
            "message_end": self._message_end,
            "tool_execution_start": self._tool_start,
            "tool_execution_end": self._tool_end,
            "auto_retry_start": self._retry_start,
            "auto_retry_end": self._retry_end,
            "compaction_start": self._compaction_start,
            "compaction_end": self._compaction_end,
            "summarization_retry_scheduled": self._summary_scheduled,
            "summarization_retry_attempt_start": self._summary_started,
            "summarization_retry_finished": self._summary_finished,
            "model_changed": self._model_changed,
            "model_fallback_start": self._fallback_start,
            "model_fallback_end": self._fallback_end,
            "agent_continue_error": self._continue_error,
            "message_update": self._passing,
            "turn_end": self._passing,
            "tool_execution_update": self._passing,
            "bash_execution_update": self._passing,
            "session_info_changed": self._passing,
            "thinking_level_changed": self._passing,
            "queue_update": self._passing,
            "entry_appended": self._passing,
        }

    def feed(self, records: Iterable[Record], *, at: float = 0.0) -> None:
        """Take the records in. `at` is when they were read, by any clock of the caller's: open tools and announced
        waits carry it as their beginning."""
        self._now = at
        for record in records:
            handler = self._handlers.get(record.type)
            if handler is None:
                self._seen.unknown.setdefault(record.type)
                continue
            if record.type not in _PREAMBLE:
                self._seen.lifecycle = True
            handler(record)

    def finish(
        self,
        stats: StreamStats,
        *,
        exit_code: int | None,
        stderr: str = "",
        stopped: StopReason | None = None,
        now: float | None = None,
        first_event_at: float | None = None,
        first_token_at: float | None = None,
    ) -> Verdict:
        """The verdict, once the stream has ended.

        `exit_code` is the process's (negative: killed by that signal; None: nobody knows), `stopped` the runner's own
        reason for ending it. `now` (seconds since the epoch) is when the session ended; without it, times such as
        "try again in 20s" are counted from the agent's own timestamps.
        """
        seen = self._seen
        ending = Ending(
            exit_code=exit_code,
            stderr=stderr,
            stopped=stopped,
            finished=seen.settled or seen.ended,
            records=stats.records,
            noise=stats.noise,
        )
        verdict = assemble(seen, ending, decide(seen, ending), stats, now=now)
        return verdict.model_copy(update={"first_event_at": first_event_at, "first_token_at": first_token_at})

    # What a watchdog asks while the session runs.

    @property
    def usage(self) -> Usage:
        """Usage of the messages that have ended."""
        return self._seen.spent.usage()

    @property
    def turns(self) -> int:
        """Turns begun."""
        return self._seen.turns

    @property
    def open_tools(self) -> Mapping[str, OpenTool]:
        """The tools that run now, by toolCallId."""
        return MappingProxyType(self._seen.open_tools)

    @property
    def tool(self) -> str | None:
        """The name of the tool that began last and still runs."""
        return next((tool.name for tool in reversed(self._seen.open_tools.values())), None)

    @property
    def announced_wait(self) -> AnnouncedWait | None:
        """The silence that the agent announced and that is still on."""
        return self._seen.wait

    @property
    def settled(self) -> bool:
        """Whether the agent said that the prompt has settled, and nothing has begun since."""
        return self._seen.settled

    @property
    def ended(self) -> bool:
        """Whether the work has closed without that word: a clean ``agent_end``, and nothing announced after it."""
        return self._seen.ended

    @property
    def has_answer(self) -> bool:
        """Whether the last message is a whole answer."""
        return full_answer(self._seen) is not None

    @property
    def last_model(self) -> str | None:
        """``provider/id`` of the model at work."""
        return self._seen.last_model

    @property
    def retries(self) -> int:
        """Retries of the agent's own."""
        return self._seen.retries

    @property
    def compactions(self) -> int:
        """Times the agent shortened its context, or tried to."""
        return self._seen.compactions

    # One handler for each type that says something. They read, and trust nothing.

    def _passing(self, record: Record) -> None:
        """It repeats or accompanies; the verdict does not need it."""

    def _begin(self) -> None:
        seen = self._seen
        seen.settled = seen.settled_aborted = False
        seen.resumed = True
        seen.wait = None

    def _err(self, found: Sign) -> None:
        if found.text and len(self._seen.errors) < _MOST_ERRORS:
            self._seen.errors.append(found)

    def _session(self, record: Record) -> None:
        self._seen.session_id = fields.text(record.data.get("id")) or self._seen.session_id

    def _agent_start(self, record: Record) -> None:
        self._begin()
        self._seen.agent_starts += 1
        self._seen.errors.clear()
        self._seen.going_on = False

    def _agent_end(self, record: Record) -> None:
        self._seen.agent_ends += 1

    def _agent_settled(self, record: Record) -> None:
        seen = self._seen
        seen.settled = seen.ever_settled = True
        seen.settled_aborted = record.data.get("aborted") is True
        seen.going_on = seen.compacting = seen.resumed = False
        seen.wait = None
        seen.open_tools.clear()

    def _turn_start(self, record: Record) -> None:
        self._begin()
        self._seen.turns += 1

    def _message_start(self, record: Record) -> None:
        seen = self._seen
        message = fields.mapping(record.data.get("message"))
        if message.get("role") != "assistant":
            return
        self._begin()
        stop = fields.text(message.get("stopReason"))
        seen.modern = seen.modern or stop == "pending"
        seen.opened = sign(record, stop)
        seen.last_model = model_name(message) or seen.last_model
        seen.first_model = seen.first_model or seen.last_model

    def _message_end(self, record: Record) -> None:
        message = fields.mapping(record.data.get("message"))
        match message.get("role"):
            case "assistant":
                self._assistant(record, message)
            case "user":
                seen = self._seen
                seen.prompted, seen.settled = True, False
                seen.overflow_answer = None
            case "toolResult":
                self._seen.results[fields.text(message.get("toolCallId"))] = fields.block_text(message.get("content"))
                if "usage" in message and message["usage"] is not None:
                    self._seen.spent.add(message["usage"])
            case _:
                pass

    def _assistant(self, record: Record, message: Mapping[str, Any]) -> None:
        seen = self._seen
        found = said(record, message)
        seen.spent.add(message.get("usage"))
        before = seen.last
        goes_on = before is not None and before.stop == "length" and found.stop in {"stop", "length"}
        if before is None or not goes_on or seen.prompted or seen.compacted or starts_over(seen, before, found.text):
            seen.pieces.clear()
        else:
            seen.pieces.append(before.text)
        seen.last = found
        seen.opened = seen.retry = seen.retry_cancelled = seen.final_error = None
        seen.prompted = seen.resumed = seen.settled = seen.going_on = seen.compacted = False
        seen.results.clear()
        seen.wait = None
        seen.last_model = found.model or seen.last_model
        seen.first_model = seen.first_model or seen.last_model
        if found.clean:
            seen.overflow = seen.overflow_answer = None
        if found.stop == "error":
            self._err(found.at)

    def _tool_start(self, record: Record) -> None:
        seen = self._seen
        seen.tool_calls += 1
        name = fields.text(record.data.get("toolName"))
        seen.open_tools[fields.text(record.data.get("toolCallId"))] = OpenTool(name, self._now)

    def _tool_end(self, record: Record) -> None:
        seen = self._seen
        call, result = fields.text(record.data.get("toolCallId")), fields.mapping(record.data.get("result"))
        seen.open_tools.pop(call, None)
        # Where the tool itself says that it failed, the event may not: both places count.
        if record.data.get("isError") is True or result.get("isError") is True:
            seen.failed_tool_calls += 1
        seen.results.setdefault(call, fields.block_text(result.get("content")))

    def _retry_start(self, record: Record) -> None:
        seen = self._seen
        seen.settled = False
        seen.retries += 1
        seen.retry = sign(record, fields.text(record.data.get("errorMessage")))
        seen.going_on = True
        self._wait(WaitKind.RETRY, record)

    def _retry_end(self, record: Record) -> None:
        seen = self._seen
        seen.wait = None
        seen.going_on = False
        if record.data.get("success") is not False:
            return
        found = sign(record, fields.text(record.data.get("finalError")))
        seen.retry = None
        if found.text.strip().rstrip(".").lower() == _CANCELLED_RETRY:
            seen.retry_cancelled = found
        else:
            self._final(found)

    def _compaction_start(self, record: Record) -> None:
        seen = self._seen
        seen.settled = False
        seen.compactions += 1
        seen.compacting = True
        self._wait(WaitKind.COMPACTION, record)

    def _compaction_end(self, record: Record) -> None:
        seen = self._seen
        result = fields.mapping(record.data.get("result"))
        if result and not seen.compacting:
            seen.compactions += 1
        seen.compacting = False
        seen.compacted = True
        seen.wait = None
        seen.degraded = seen.degraded or result.get("rung") == "fresh"
        if result.get("usage") is not None:
            seen.compaction_spent.add(result.get("usage"))
        error = fields.text(record.data.get("errorMessage"))
        if record.data.get("midTurn") is True:
            self._err(sign(record, error))
        if record.data.get("willRetry") is True:
            seen.going_on = True
        if record.data.get("unresolvedOverflow") is True:
            seen.ever_overflow = True
            seen.overflow = sign(record, error)
            seen.overflow_answer = full_answer(seen)

    def _summary_scheduled(self, record: Record) -> None:
        self._wait(WaitKind.SUMMARY_RETRY, record)

    def _summary_started(self, record: Record) -> None:
        self._wait(WaitKind.SUMMARY, record)

    def _summary_finished(self, record: Record) -> None:
        # Inside a compaction the rest of it is still the provider's time.
        self._seen.wait = AnnouncedWait(WaitKind.COMPACTION, 0.0, self._now) if self._seen.compacting else None

    def _model_changed(self, record: Record) -> None:
        self._seen.last_model = model_name(fields.mapping(record.data.get("model"))) or self._seen.last_model

    def _fallback_start(self, record: Record) -> None:
        seen = self._seen
        seen.settled = False
        seen.inner_fallbacks += 1
        seen.going_on = True
        seen.retry = None
        seen.last_model = fields.text(record.data.get("to")) or seen.last_model
        self._wait(WaitKind.FALLBACK, record)

    def _fallback_end(self, record: Record) -> None:
        self._seen.going_on = False
        self._seen.wait = None
        if record.data.get("success") is False:
            self._final(sign(record, fields.text(record.data.get("finalError"))))

    def _continue_error(self, record: Record) -> None:
        self._seen.going_on = False
        self._seen.wait = None
        self._final(sign(record, fields.text(record.data.get("errorMessage"))))

    def _final(self, found: Sign) -> None:
        if found.text:
            self._seen.final_error = found
            self._err(found)

    def _wait(self, kind: WaitKind, record: Record) -> None:
        delay = fields.amount(record.data.get("delayMs")) or 0.0
        self._seen.wait = AnnouncedWait(kind, delay / 1000, self._now)
