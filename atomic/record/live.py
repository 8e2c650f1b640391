"""Runs that are open: one file each in the home, so that recovery need not search the records."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from atomic.errors import RecordDamaged
from atomic.record.facts import Owner
from atomic.record.files import encode, locked, make_folder, place_error, read_object, write_file
from atomic.record.layout import is_run_id
from atomic.verdict.facts import Facts


class LiveEntry(Facts):
    """An open run. ``owner`` is None where the entry is damaged."""

    run_id: str
    folder: str = ""  # absolute; empty where the entry is damaged
    root: str = ""  # of the store it was made by
    owner: Owner | None = None


@dataclass(frozen=True, slots=True)
class LiveIndex:
    """The open runs of a home. An entry is made before the run's folder and removed after the run is stored."""

    folder: Path

    def make(self) -> None:
        """Make the folder, if it is not there. Raises PlaceError."""
        make_folder(self.folder)

    @contextmanager
    def closing(self, run_id: str) -> Iterator[None]:
        """Whoever closes an open run in its dead owner's place does it within this: one at a time. Then it is no longer
        open. Raises LockTaken at once while another closes it, PlaceError."""
        self.make()
        path = self.folder / f"{run_id}.lock"
        with locked(path, wait=False):
            yield
            self.leave(run_id)
            # Who holds a removed lock, or makes it anew, finds the run ended.
            path.unlink(missing_ok=True)

    def enter(self, run_id: str, path: Path, owner: Owner, root: str) -> None:
        """Note an open run. Raises PlaceError, RecordError."""
        entry = LiveEntry(run_id=run_id, folder=str(path), owner=owner, root=root)
        data = encode(entry.model_dump(mode="json"))
        self.make()
        write_file(self._file(run_id), data)

    def leave(self, run_id: str) -> None:
        """The run is no longer open. One that was not noted is no error."""
        path = self._file(run_id)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise place_error(error, path, "remove") from error

    def entries(self) -> Iterator[LiveEntry]:
        """The open runs, the oldest first. Damaged entries come without owner."""
        try:
            names = sorted(path.stem for path in self.folder.iterdir() if path.suffix == ".json")
        except FileNotFoundError:
            return
        except OSError as error:
            raise place_error(error, self.folder, "read") from error
        for run_id in filter(is_run_id, names):
            try:
                yield LiveEntry.model_validate(read_object(self._file(run_id)))
            except FileNotFoundError:
                continue  # it ended meanwhile
            except (RecordDamaged, ValidationError):
                yield LiveEntry(run_id=run_id)

    def _file(self, run_id: str) -> Path:
        return self.folder / f"{run_id}.json"
