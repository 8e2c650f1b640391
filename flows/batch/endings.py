"""What items came to, on its way to where it is kept: the history and the items' states, then the results files.

Many that end at once are written together. Killed between two of them, the next start writes the rest: the record of
the run is the truth.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

from atomic.errors import EditionLost
from atomic.record import AttemptRecord, RunRecord
from atomic.runner import RunResult
from atomic.verdict.facts import Status
from flows.batch.results import ResultFiles, result_line
from flows.database import ClaimedItem, Database, Edition, Ended, items, runs
from flows.database.items import state_after
from flows.database.runs import Recorded


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a claimed item came to; without ``run`` nothing was begun for it."""

    item: ClaimedItem
    result: RunResult
    run: RunRecord | None = None
    attempts: tuple[AttemptRecord, ...] = ()
    prompt: str | None = None  # its beginning, without secrets

    @property
    def decided(self) -> bool:
        """Whether the item has ended, and is not to be done again when the batch goes on."""
        return state_after(self.result.status, self.result.kind) != "pending"


# Seconds that an outcome waits for others, to be written together: a transaction costs several times what it holds. The
# record of the run has it meanwhile, and its slot is free.
GATHER = 0.1


class Endings:
    """Writes outcomes in the background. ``run`` is to be awaited by a task of its own; it raises what the database or
    the files refuse, and then nothing more is written."""

    def __init__(self, database: Database, edition: Edition, files: ResultFiles) -> None:
        self._database = database
        self._edition = edition
        self._files = files
        self._waiting: list[tuple[Outcome, asyncio.Future[bool]]] = []
        self._filled = asyncio.Event()
        self._closing = asyncio.Event()
        self._broken = False

    async def put(self, outcome: Outcome) -> bool:
        """Wait until an outcome is written. False where the item was not this process's any more. Raises CancelledError
        where nothing can be written any more."""
        if self._broken:
            raise asyncio.CancelledError
        written: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append((outcome, written))
        self._filled.set()
        return await written

    async def run(self) -> None:
        """Write until it is closed. Raises DatabaseError, EditionLost, PlaceError, RecordError."""
        batch: list[tuple[Outcome, asyncio.Future[bool]]] = []
        try:
            while self._waiting or not self._closing.is_set():
                await self._filled.wait()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._closing.wait(), GATHER)
                self._filled.clear()
                batch, self._waiting = self._waiting, []
                if batch:
                    done = await self._database.apart(write, self._edition, self._files, [one for one, _ in batch])
                    for outcome, written in batch:
                        if not written.done():
                            written.set_result(outcome.item.id in done)
        finally:  # also when it is cancelled, by a loop that shuts down
            self._broken = True
            for _, written in [*batch, *self._waiting]:
                written.cancel()

    async def keep_files(self) -> bool:
        """See to it that what was written is where it belongs, and lasts through a power cut. False where the files had
        to be written anew. Raises DatabaseError, PlaceError, RecordError."""
        there = await self._database.apart(keep, self._edition, self._files)
        await asyncio.to_thread(self._files.sync)
        return there

    def close(self) -> None:
        """Let ``run`` return when all is written."""
        self._closing.set()
        self._filled.set()


def keep(database: Database, edition: Edition, files: ResultFiles) -> bool:
    """Write the results files anew where somebody has moved, removed or replaced them: false then. Raises
    DatabaseError, PlaceError, RecordError."""
    if files.in_place:
        return True
    files.write_anew(items.results(database, edition.id))
    return False


def write(database: Database, edition: Edition, files: ResultFiles, outcomes: Sequence[Outcome]) -> set[int]:
    """Write what items came to. Returns the ids of those that were this process's to end. Raises DatabaseError,
    EditionLost, PlaceError, RecordError."""
    known = [Recorded(one.run, one.attempts, one.result.record, one.prompt) for one in outcomes if one.run is not None]
    ended = []
    lines: dict[int, tuple[Status, str]] = {}
    for outcome in outcomes:
        result, item = outcome.result, outcome.item
        line = result_line(item.custom_id, result) if outcome.decided else ""
        if line:
            lines[item.id] = result.status, line
        ended.append(Ended(item.id, result.status, result.kind, result.run_id or None, line))
    try:
        done = items.end(database, edition, ended, recorded=known)
    except EditionLost:
        runs.record_runs(database, known)  # they are part of the history, whoever has the edition now
        raise
    files.append([line for item_id, line in lines.items() if item_id in done])
    return done
