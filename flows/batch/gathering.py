"""Results of items that other processes carry out: found in the database as they end, and written to the files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from atomic.verdict.facts import Status
from flows.batch.results import ResultFiles
from flows.database import Database, Edition, ItemResult, items

NOWHERE = 2**31 - 1  # a position that no input has


class Gathering:
    """Writes each item's line once. One caller at a time; all of it blocks."""

    def __init__(self, database: Database, edition: Edition, files: ResultFiles) -> None:
        """``files`` have been written anew, and nothing has ended since."""
        self._database = database
        self._edition = edition
        self._files = files
        first = items.first_left(database, edition.id)
        self._position = NOWHERE if first is None else first  # before it all items have ended, and are written
        self._known: dict[str, int] = {}  # those written from there on, with their positions
        self._take()

    def gather(self) -> list[ItemResult]:
        """Write what has ended since the last call; it is returned in the order in which it did. Raises DatabaseError,
        PlaceError, RecordError."""
        found = self._take()
        self._files.append([(one.status, one.result) for one in found if one.result])
        return found

    def keep_files(self) -> bool:
        """See to it that what was written is where it belongs, and lasts through a power cut. False where the files had
        to be written anew. Raises DatabaseError, PlaceError, RecordError."""
        there = self._files.in_place
        if not there:
            self._files.write_anew(self._written())
        self._files.sync()
        return there

    def _take(self) -> list[ItemResult]:
        first, found = items.ended_from(self._database, self._edition.id, self._position, self._known)
        self._known.update((one.custom_id, one.position) for one in found)
        if first is not None and first > self._position:
            self._position = first
            self._known = {name: at for name, at in self._known.items() if at >= first}
        return found

    def _written(self) -> Iterator[ItemResult]:
        for one in items.results(self._database, self._edition.id):
            if one.position < self._position or one.custom_id in self._known:
                yield one


class NoFiles(ResultFiles):
    """The results files as a shard on a worker has them: the process that owns the edition writes them."""

    def append(self, lines: Sequence[tuple[Status, str]]) -> None:
        """Write nothing."""
