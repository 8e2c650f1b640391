"""A run as it happens, on stderr: a live line at a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import IO, TYPE_CHECKING, Self

from atomic.record import RunStore
from atomic.runner import AttemptEnded, AttemptProgress, AttemptStarted, RunEvent, RunResult, RunStarted
from atomic.runner.results import result_of
from atomic.session import Progress
from flows.cli.live import Foot, text_of
from flows.cli.output import coloured, paint, say
from flows.cli.sentences import Piece, at_work, sentence

if TYPE_CHECKING:
    from rich.console import RenderableType

STILL_AT_WORK = 30.0  # seconds of silence after which a log says that the run is alive


class PlainProgress:
    """A line for each thing that happens, and one now and then while nothing does. ``run`` is the run's start, once
    it has one."""

    def __init__(self) -> None:
        self.run: RunStarted | None = None
        self._said = time.monotonic()
        self._before: Progress | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is held open."""

    def __call__(self, event: RunEvent) -> None:
        """Show an event."""
        if isinstance(event, RunStarted):
            self.run = event
        if isinstance(event, AttemptStarted):
            self._before = None
        if isinstance(event, AttemptProgress):
            self._step(event.progress)
        elif pieces := sentence(event):
            self.line(pieces)

    def line(self, pieces: list[Piece]) -> None:
        """One line of pieces."""
        say("".join(paint(text, code) if code else text for text, code in pieces))
        self._said = time.monotonic()

    def _step(self, progress: Progress) -> None:
        before = self._before
        changed = before is not None and (
            progress.retries > before.retries
            or progress.compactions > before.compactions
            or progress.model != before.model
        )
        self._before = progress
        if changed or time.monotonic() - self._said > STILL_AT_WORK:
            self.line([("  ", ""), *at_work(progress)])


class LiveProgress(PlainProgress):
    """The same lines, and below them one that moves: model at work, what it does, seconds, tokens, cost."""

    def __init__(self) -> None:
        super().__init__()
        from rich.spinner import Spinner

        self._spinner = Spinner("dots")
        self._now: tuple[Progress, float] | None = None
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

    def _step(self, progress: Progress) -> None:
        self._now = (progress, time.monotonic())

    def __call__(self, event: RunEvent) -> None:
        if isinstance(event, AttemptEnded):
            self._now = None
        super().__call__(event)

    def _moving(self) -> RenderableType:
        if self._now is None:
            return text_of([])
        progress, told = self._now
        self._spinner.update(text=text_of(at_work(progress, time.monotonic() - told)))
        return self._spinner


def progress_for(stream: IO[str]) -> PlainProgress:
    """What suits this stderr: a line that moves wants a terminal, and nobody who asked for no colours."""
    return LiveProgress() if coloured(stream) else PlainProgress()


def recorded(store: RunStore, progress: PlainProgress) -> RunResult | None:
    """What the record says of a run that something ended from outside; None where it had not begun."""
    if progress.run is None:
        return None
    return result_of(store.open(progress.run.run_id).read(), (), progress.run.record)
