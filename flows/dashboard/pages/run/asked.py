"""What an address asks for: a run, one of its attempts. Addresses are hostile like any other text."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass

from atomic.errors import RecordError, RunNotFound
from atomic.text import Masker
from flows.dashboard.layout import missing
from flows.dashboard.records import AttemptFound, RunFound, find_run
from flows.dashboard.sources import Sources

_NUMBER = re.compile(r"[1-9]\d{0,9}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Asked:
    """A run that was found."""

    run: RunFound
    masker: Masker


async def ask_run(sources: Sources, run_id: str) -> Asked | None:
    """The run of this id; None when there is none: then the page says so."""

    def look() -> Asked:
        return Asked(find_run(sources.store, run_id), sources.masker())

    try:
        return await asyncio.to_thread(look)
    except RunNotFound as error:
        missing(f"There is no run {run_id}", error.hint or "")
    except RecordError as error:
        missing(f"Run {run_id} cannot be read", error.message)
    return None


async def ask_attempt(sources: Sources, run_id: str, number: str) -> tuple[Asked, AttemptFound] | None:
    """The attempt of this number; None when there is none: then the page says so."""
    asked = await ask_run(sources, run_id)
    if asked is None:
        return None
    n = positive(number)
    attempt = asked.run.attempt(n) if n is not None else None
    if attempt is None:
        missing(f"Run {run_id} has no attempt {number}", f"It has {len(asked.run.attempts)}.")
        return None
    return asked, attempt


def positive(text: str | None) -> int | None:
    """A whole number from 1 on; None for anything else."""
    return int(text) if text and _NUMBER.fullmatch(text) else None
