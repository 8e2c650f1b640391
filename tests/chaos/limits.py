"""A batch on a real agent with two providers, the first of which turns everybody away for a while.

    python -m tests.chaos.limits [--items 50] [--concurrency 8] [--at-once N] [--release pi-0.73.1]

The first provider answers a few items, then says 429 to sessions and to whoever asks for its models, until the second
one has answered as many as it should; then it is itself again. With `--at-once` it always turns away more sessions than
that at a time. Shows who answered when, and what share of the sessions the first provider had.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from atomic.record import RunRecord
from atomic.settings import Settings
from flows.batch import BatchResult, BatchRun, prepare_batch
from flows.batch.engine import Engine
from tests.e2e.real import PROVIDERS, RealAgent, set_up
from tests.e2e.releases import RELEASES
from tests.loopback.provider import Provider

FIRST, SECOND = (f"{provider}/second" for provider in PROVIDERS)  # each answer takes a second
COOLDOWN = 1  # seconds; short, so that it is over and begun again while the provider still says no
LOOK = 0.1  # seconds between two looks

Phase = Literal["open", "turned away", "open again"]


@dataclass(frozen=True, slots=True)
class Plan:
    """A batch and what befalls it: the first provider turns everybody away once it has taken ``before`` requests, until
    the second one has taken ``meanwhile``; it never takes more than ``at_once`` at a time (None: any number)."""

    items: int
    concurrency: int
    before: int
    meanwhile: int
    at_once: int | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """How it stood: counts are those since the beginning, of the first and the second provider."""

    seconds: float
    phase: Phase
    share: int  # of the first provider: sessions that it may have at a time
    running: tuple[int, int]  # sessions
    taken: tuple[int, int]  # requests
    refused: int  # requests of the first one


@dataclass(slots=True)
class Limited:
    """A batch under such a plan. ``looks`` are those at which something had changed."""

    real: RealAgent
    plan: Plan
    looks: list[Look] = field(default_factory=list)
    phase: Phase = "open"
    begun_at: float = 0.0

    @property
    def scope(self) -> str:
        """The first provider's."""
        return f"{self.real.scope}/{PROVIDERS[0]}"

    async def to_its_end(self) -> BatchResult:
        """Carry it out, on the real agent."""
        lines = self.real.work.with_name("items.txt")
        lines.write_text("".join(f"say {n}\n" for n in range(self.plan.items)))
        run = BatchRun(
            prepare_batch(
                lines,
                policy={"models": [FIRST, SECOND], "cooldown": {"rate_limit": COOLDOWN}},
                agent=self.real.agent,
                cwd=self.real.work,
                concurrency=self.plan.concurrency,
                settings=Settings(home=self.real.store.home, shared=True),
            )
        )
        self.begun_at = time.monotonic()
        self.real.provider.allow(self.scope, self.plan.at_once)
        watching = asyncio.create_task(self._watch(run))
        try:
            return await run.to_its_end()
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching

    def runs(self) -> list[RunRecord]:
        """All runs, in the order of their ends."""
        return sorted(self.real.store.iter_runs(), key=lambda run: run.ended_at or 0)

    async def _watch(self, run: BatchRun) -> None:
        while True:
            look = self._look(run)
            if not self.looks or _said(look) != _said(self.looks[-1]):
                self.looks.append(look)
            if self.phase == "open" and look.taken[0] >= self.plan.before:
                self.phase = "turned away"
                self.real.provider.allow(self.scope, 0)
            elif self.phase == "turned away" and look.taken[1] >= self.plan.meanwhile:
                self.phase = "open again"
                self.real.provider.allow(self.scope, self.plan.at_once)
            await asyncio.sleep(LOOK)

    def _look(self, run: BatchRun) -> Look:
        engine = run._engine
        taken: Counter[str] = Counter()
        refused = 0
        for seen in self.real.requests():
            taken[seen.scope] += not seen.refused
            refused += seen.refused
        first, second = (f"{self.real.scope}/{name}" for name in PROVIDERS)
        share, running = 0, (0, 0)
        if isinstance(engine, Engine):
            in_use = engine._slots._in_use
            share, running = engine._slots.share(PROVIDERS[0]).allowed, (in_use[PROVIDERS[0]], in_use[PROVIDERS[1]])
        seconds = time.monotonic() - self.begun_at
        return Look(seconds, self.phase, share, running, (taken[first], taken[second]), refused)


def _said(look: Look) -> tuple[object, ...]:
    return look.phase, look.share, look.taken, look.refused


def story(limited: Limited) -> Iterator[str]:
    """The looks, then who answered in what order, in lines."""
    yield "seconds  share  running  requests taken  refused"
    phase = None
    for look in limited.looks:
        if look.phase != phase:
            phase = look.phase
            yield f"-- {PROVIDERS[0]}: {phase}"
        running, taken = (f"{first:3} +{second:3}" for first, second in (look.running, look.taken))
        yield f"{look.seconds:7.1f}  {look.share:5}  {running}  {taken:>14}  {look.refused:7}"
    runs = limited.runs()
    yield f"answered, in order ({', '.join(f'{name[0]} = {name}' for name in PROVIDERS)}):"
    yield "  " + "".join((run.answered_by or "-")[0] for run in runs)
    attempts = Counter(f"{one.model}: {one.kind or 'answered'}" for run in runs for one in run.attempts)
    yield f"sessions: {', '.join(f'{n} {what}' for what, n in sorted(attempts.items()))}"


async def limited_night(folder: Path, release: str, plan: Plan) -> int:
    """Carry one out and tell its story. Returns the exit code."""
    with Provider() as provider:
        limited = Limited(set_up(next(one for one in RELEASES if one.name == release), provider, folder), plan)
        result = await limited.to_its_end()
    for line in story(limited):
        sys.stdout.write(f"{line}\n")
    sys.stdout.write(f"{result.answered} of {result.total} answered in {result.seconds:.0f} s\n")
    for warning in result.warnings:
        sys.stdout.write(f"  {warning}\n")
    return result.exit_code


def main() -> int:
    """Carry one out. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=50)
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--at-once", type=int)
    parser.add_argument("--release", choices=[one.name for one in RELEASES], default=RELEASES[0].name)
    asked = parser.parse_args()
    plan = Plan(asked.items, asked.concurrency, asked.items // 5, asked.items // 5, asked.at_once)
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(limited_night(Path(folder).resolve(), asked.release, plan))


if __name__ == "__main__":
    sys.exit(main())
