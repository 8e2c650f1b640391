"""What a run is given to work with, so that a test, a Prefect flow or a batch can put something else in its place."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Protocol

from atomic.models import ModelRef
from atomic.record import AttemptRecord
from atomic.runner.facts import RunEvent
from atomic.session import AttemptSpec, Progress, run_attempt

OnEvent = Callable[[RunEvent], None]
KeyIsBad = Callable[[ModelRef], Awaitable[bool]]


class RunAttempt(Protocol):
    """What carries an attempt out: :func:`atomic.session.run_attempt`, or something around it."""

    def __call__(
        self, spec: AttemptSpec, *, on_progress: Callable[[Progress], None] | None = None
    ) -> Awaitable[AttemptRecord]: ...


@dataclass(frozen=True, slots=True)
class Seams:
    """How attempts are carried out, who is told, what is known of cooldowns and keys, and what time it is."""

    run_attempt: RunAttempt = run_attempt
    on_event: OnEvent | None = None
    cooldowns: MutableMapping[str, float] = field(default_factory=dict)
    key_is_bad: KeyIsBad | None = None
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
