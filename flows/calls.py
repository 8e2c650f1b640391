"""What passes between a caller and the flow run that it starts in its own process, beside the plain parameters."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import httpx

from atomic.record import RunStore
from atomic.runner import OnEvent, RunEnded, RunEvent, RunRequest, RunResult, RunStarted
from atomic.settings import Settings
from flows.cancel import Stopped
from flows.unsettled import note_unsettled

# What Prefect's client raises where its server is away; the assertion is its own, when repetitions are cut short.
AWAY = (httpx.HTTPError, OSError, AssertionError)


@dataclass(slots=True)
class Call:
    """A run as its caller prepared it, and what became of it, whatever Prefect does meanwhile."""

    settings: Settings
    request: RunRequest
    store: RunStore
    on_event: OnEvent | None = None
    handlers: Mapping[signal.Signals, Any] = field(default_factory=dict)  # the caller's own, see flows.cancel
    pages: str | None = None  # the dashboard's address, for links
    flow_run_id: str | None = None  # None: the flow run has not begun
    result: RunResult | None = None
    cancelled: bool = False
    stopped: Stopped | None = None  # None for a cancelled one: the caller's own task was cancelled

    def hear(self, event: RunEvent) -> None:
        """Keep the result, leave a note that the server is to be told the end, and pass the event on."""
        if isinstance(event, RunStarted) and self.flow_run_id is not None:
            # A kill can fall between the end on record and the end that the server hears of.
            note_unsettled(self.store.home, run_id=event.run_id, flow_run_id=self.flow_run_id, owner_tells=True)
        if isinstance(event, RunEnded):
            self.result = event.result
        if self.on_event is not None:
            self.on_event(event)


_given: ContextVar[Call | None] = ContextVar("_given", default=None)
_on_event: ContextVar[OnEvent | None] = ContextVar("_on_event", default=None)


def hand_over(call: Call) -> None:
    """Leave a call for the flow function, which runs in the same task."""
    _given.set(call)


def take_over() -> Call | None:
    """The call that was left; None where the flow run was started from elsewhere. It is taken once."""
    call = _given.get()
    _given.set(None)
    return call


@contextlib.contextmanager
def watching(on_event: OnEvent) -> Iterator[None]:
    """Tell ``on_event`` what happens in the runs that are started within."""
    token = _on_event.set(on_event)
    try:
        yield
    finally:
        _on_event.reset(token)


def current_watcher() -> OnEvent | None:
    """Who watches the runs started here."""
    return _on_event.get()
