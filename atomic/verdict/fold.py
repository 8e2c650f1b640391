"""The fold: records in, a verdict out. It never raises, whatever the records hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from atomic.verdict.answers import full_answer
from atomic.verdict.assemble import assemble
from atomic.verdict.decide import decide
from atomic.verdict.ending import Ending
from atomic.verdict.facts import StopReason, Usage, Verdict
from atomic.verdict.handlers import take
from atomic.verdict.seen import AnnouncedWait, OpenTool, Seen
from atomic.verdict.signs import Sign

if TYPE_CHECKING:
    from atomic.framing import Record, StreamStats


class VerdictFold:
    """Reads the records of one session as they come. Feed it every record, then ask for the verdict.

    While the session runs, the properties say what a watchdog has to know.
    """

    def __init__(self) -> None:
        self._seen = Seen()

    def feed(self, records: Iterable[Record], *, at: float = 0.0) -> None:
        """Take the records in. `at` is when they were read, by any clock of the caller's: open tools and announced
        waits carry it as their beginning."""
        for record in records:
            take(self._seen, record, at)

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
            noise=_first_noise(stats),
        )
        verdict = assemble(seen, ending, decide(seen, ending), stats, now=now)
        return verdict.model_copy(update={"first_event_at": first_event_at, "first_token_at": first_token_at})

    # What a watchdog asks while the session runs.

    @property
    def usage(self) -> Usage:
        """Usage of the messages that have ended."""
        return self._seen.spent.usage()

    def usage_with(self, told: object) -> Usage:
        """Usage of the messages that have ended, and of the one in flight as it was `told` last."""
        return self._seen.spent_with(told).usage()

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


def _first_noise(stats: StreamStats) -> Sign | None:
    if not stats.noise:
        return None
    sample = next(iter(stats.noise_samples), None)
    if sample is None:
        return Sign("noise", 0, 0)
    return Sign("noise", sample.line, sample.offset, sample.text.decode("utf-8", "replace"))
