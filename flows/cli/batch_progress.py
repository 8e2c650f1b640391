"""A batch as it goes, on stderr: a bar that moves at a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import IO, TYPE_CHECKING, Self

from atomic.text import one_line
from flows.batch import BatchEvent, BatchProgress, Notice
from flows.cli.figures import clock, count, duration, money
from flows.cli.live import Foot, text_of
from flows.cli.output import BOLD, CYAN, DIM, GREEN, RED, YELLOW, coloured, paint, say
from flows.cli.sentences import Piece

if TYPE_CHECKING:
    from rich.console import RenderableType

PLAIN_EVERY = 5.0  # seconds between two lines of a log
SLOWER_AFTER = 300.0  # seconds after which a log gets a line a minute: a night would fill it otherwise
SLOW_EVERY = 60.0
BAR = 24  # characters
NOTICE = 600


def standing(progress: BatchProgress) -> list[Piece]:
    """How a batch stands: done, failed, running, parked, rate, cost, time left."""
    pieces: list[Piece] = [(f"{progress.done}/{progress.total} done", BOLD)]
    if progress.failed:
        pieces.append((f" · {progress.failed} failed", RED))
    pieces.append((f" · {progress.running} running", CYAN if progress.running else DIM))
    if progress.queued:
        pieces.append((f" · {progress.queued} waiting for other machines", YELLOW))
    if progress.parked:
        pieces.append((f" · {progress.parked} parked", YELLOW))
    figures = []
    if progress.per_minute is not None:
        figures.append(f"{progress.per_minute:.1f} a minute")
    if progress.tokens:
        figures.append(f"{count(progress.tokens)} tokens")
    if progress.cost_usd:
        figures.append(money(progress.cost_usd))
    if progress.seconds_left:
        figures.append(f"{duration(progress.seconds_left)} left")
    if progress.state != "running":
        figures.append(progress.state)
    elif progress.waiting_until is not None and not progress.running:
        figures.append(f"every model cools down until {clock(progress.waiting_until)}")
    return [*pieces, ("".join(f" · {figure}" for figure in figures), DIM)]


class PlainBatchProgress:
    """A line every few seconds while something changes, and one for each notice."""

    def __init__(self) -> None:
        self._said = float("-inf")
        self._before = ""
        self._state: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is held open."""

    def __call__(self, event: BatchEvent) -> None:
        """Show an event."""
        if isinstance(event, Notice):
            self.line([("note ", YELLOW), (one_line(event.text, NOTICE), "")])
        else:
            self._show(event)

    def line(self, pieces: list[Piece]) -> None:
        """One line of pieces."""
        say("".join(paint(text, code) if code else text for text, code in pieces))

    def _show(self, progress: BatchProgress) -> None:
        every = PLAIN_EVERY if progress.seconds < SLOWER_AFTER else SLOW_EVERY
        pieces = standing(progress)
        text = "".join(part for part, _ in pieces)
        due = time.monotonic() - self._said >= every and text != self._before
        if due or progress.state != self._state:
            self._said, self._before, self._state = time.monotonic(), text, progress.state
            self.line([(f"{one_line(progress.batch, 60)}  ", DIM), *pieces])


class LiveBatchProgress(PlainBatchProgress):
    """Notices, and below them a bar with how it stands."""

    def __init__(self) -> None:
        super().__init__()
        self._now: BatchProgress | None = None
        self._foot = Foot(self._moving)

    def __enter__(self) -> Self:
        self._foot.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._foot.stop()

    def line(self, pieces: list[Piece]) -> None:
        self._foot.line(pieces)

    def _show(self, progress: BatchProgress) -> None:
        self._now = progress

    def _moving(self) -> RenderableType:
        return text_of([]) if self._now is None else text_of([*bar(self._now), ("  ", ""), *standing(self._now)])


def bar(progress: BatchProgress) -> list[Piece]:
    """A bar of what was answered, failed, and is left."""
    total = max(progress.total, 1)
    answered = BAR * progress.answered // total
    failed = max(BAR * progress.done // total - answered, 1 if progress.failed else 0)
    return [("━" * answered, GREEN), ("━" * failed, RED), ("━" * max(BAR - answered - failed, 0), DIM)]


def batch_progress_for(stream: IO[str]) -> PlainBatchProgress:
    """What suits this stderr: a bar wants a terminal, and nobody who asked for no colours."""
    return LiveBatchProgress() if coloured(stream) else PlainBatchProgress()
