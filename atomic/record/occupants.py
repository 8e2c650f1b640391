"""Which folders agents are at work in: two sessions in one folder get in each other's way, and are refused unless they
are let share it.

Known are the processes of one home on this machine. A folder is told by its real path, and stands for the whole git
repository that it is in: a session changes files anywhere in it.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
from pydantic import ValidationError

from atomic.errors import FolderBusy, RecordDamaged
from atomic.processes import living_markers
from atomic.record.facts import Owner
from atomic.record.files import encode, locked, make_folder, place_error, read_object, write_file
from atomic.record.layout import is_run_id, run_path
from atomic.record.owner import OwnerState, state_of, this_process
from atomic.verdict.facts import Facts

if TYPE_CHECKING:
    from atomic.record.store import RunStore

_LOCK = ".lock"


class Occupant(Facts):
    """A run or a batch that works in folders. ``what`` is its name for people, ``trees`` as :func:`tree_of` has them,
    ``since`` in seconds since the epoch."""

    what: str
    trees: tuple[str, ...]
    owner: Owner
    since: float


def tree_of(folder: Path) -> Path:
    """The folder that a session in this one may change: the top of its git repository or worktree, else itself; its
    real path."""
    real = Path(os.path.realpath(folder))
    return next((place for place in (real, *real.parents) if os.path.lexists(place / ".git")), real)


@dataclass(frozen=True, slots=True)
class Occupants:
    """Those of one home. An entry is a file, made before the first session begins and removed after the last has
    ended; that of a dead process counts for as long as an agent of its still lives."""

    store: RunStore

    @property
    def folder(self) -> Path:
        """Where the entries are."""
        return self.store.home / "folders"

    @contextlib.contextmanager
    def at_work(self, what: str, folders: Iterable[Path], *, shared: bool = False) -> Iterator[Callable[[str], None]]:
        """Within, these folders are worked in; what is yielded gives whoever works there another name for people.
        ``shared``: whether others may be at work there as well. Raises FolderBusy, PlaceError or RecordError before."""
        trees = frozenset(map(tree_of, folders))
        entry = self.folder / f"{os.getpid()}-{secrets.token_hex(6)}.json"
        make_folder(self.folder)
        with locked(self.folder / _LOCK):
            if not shared:
                self.require_free(trees)
            names = tuple(sorted(map(str, trees)))
            occupant = Occupant(what=what, trees=names, owner=this_process(), since=time.time())
            _write(entry, occupant)
        try:
            yield lambda name: _write(entry, occupant.model_copy(update={"what": name}))
        finally:
            with contextlib.suppress(OSError):  # one that stays counts only while this process lives
                entry.unlink(missing_ok=True)

    def require_free(self, trees: Iterable[Path]) -> None:
        """Raises FolderBusy where somebody is at work in one of these."""
        wanted = frozenset(map(str, trees))
        dead: list[Path] = []
        for path, occupant in self._entries():
            common = sorted(wanted.intersection(occupant.trees))
            if not common or _runs_us(occupant.owner):
                continue
            if state_of(occupant.owner) is OwnerState.LIVING:
                raise _busy(common[0], occupant.what, occupant.owner.pid, occupant.since)
            dead.append(path)
        if dead:
            self._require_no_agents(wanted)
        for path in dead:
            path.unlink(missing_ok=True)

    def _require_no_agents(self, wanted: frozenset[str]) -> None:
        """Of dead owners agents may still live, until the next start ends them or has followed them to their end."""
        for run_id in dict.fromkeys(marker.partition("/")[0] for marker in living_markers()):
            if not is_run_id(run_id):
                continue
            try:
                run = read_object(self.store.spool / run_path(run_id) / "run.json")
            except (OSError, RecordDamaged):
                continue
            tree = str(tree_of(Path(str(run.get("cwd") or "/"))))
            if tree in wanted:
                raise _busy(tree, f"an agent of run {run_id}, whose process was killed,", None, None)

    def _entries(self) -> Iterator[tuple[Path, Occupant]]:
        try:
            paths = sorted(path for path in self.folder.iterdir() if path.suffix == ".json")
        except FileNotFoundError:
            return
        except OSError as error:
            raise place_error(error, self.folder, "read") from error
        for path in paths:
            try:
                yield path, Occupant.model_validate(read_object(path))
            except (FileNotFoundError, RecordDamaged, ValidationError):
                continue  # it ended meanwhile, or a crash of the machine took it


def _write(path: Path, occupant: Occupant) -> None:
    write_file(path, encode(occupant.model_dump(mode="json")))


def _runs_us(owner: Owner) -> bool:
    """Whether we run below it: the tool of a session, or its check, that asks another one. It waits for us."""
    if owner.pid == os.getpid() or state_of(owner) is not OwnerState.LIVING:
        return False
    with contextlib.suppress(psutil.Error):
        return owner.pid in {above.pid for above in psutil.Process().parents()}
    return False


def _busy(tree: str, what: str, pid: int | None, since: float | None) -> FolderBusy:
    at = "" if since is None else f", since {time.strftime('%H:%M', time.localtime(since))}"
    who = "" if pid is None else f" (process {pid}{at})"
    return FolderBusy(
        f"{what} is at work in {tree}{who}: two sessions in one folder get in each other's way",
        hint="Wait for it; or give --shared where they only read, --workspace worktree for a folder of the run's own, "
        "or another --cwd.",
        path=tree,
        what=what,
        pid=pid,
        since=since,
    )
