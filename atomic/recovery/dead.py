"""Which open runs have a dead owner on this machine."""

from __future__ import annotations

from pathlib import Path

from atomic.errors import RecordDamaged
from atomic.processes import living_markers
from atomic.record import Owner, RunFolder, RunStore
from atomic.record.layout import is_run_id, run_path
from atomic.record.live import LiveEntry
from atomic.record.owner import OwnerState, state_of
from atomic.workspace import workspaces_of


def dead_runs(store: RunStore) -> list[RunFolder]:
    """The runs of a home that are open though their owner is dead: those it lists, and those of which there are
    processes that carry their marker, or workspaces. Blocks. Raises PlaceError where the home cannot be read."""
    found: dict[str, RunFolder] = {}
    listed = set()
    for entry in store.live.entries():
        listed.add(entry.run_id)
        folder = _folder(store, entry)
        if _is_dead(entry.owner or _owner(folder)):
            found[entry.run_id] = folder
    marked = (marker.partition("/")[0] for marker in living_markers())
    for run_id in (*marked, *(place.name for place in workspaces_of(store.home))):
        if run_id in listed or not is_run_id(run_id):
            continue
        folder = RunFolder(store.spool / run_path(run_id), store)
        if folder.path.is_dir() and _is_open(folder) and _is_dead(_owner(folder)):
            found[run_id] = folder
    return list(found.values())


def _folder(store: RunStore, entry: LiveEntry) -> RunFolder:
    """The run's folder, in the store that it was made by: the place for records may have been changed since."""
    path = Path(entry.folder) if entry.folder else store.spool / run_path(entry.run_id)
    if entry.root and entry.root != store.root:
        spool = path.parents[len(run_path(entry.run_id).parts) - 1]
        store = RunStore(
            entry.root, home=store.home, spool=spool, fsync=store.fsync, level=store.level, redact=store.redact
        )
    return RunFolder(path, store)


def _owner(folder: RunFolder) -> Owner | None:
    try:
        return folder.read().owner
    except RecordDamaged:
        return None


def _is_open(folder: RunFolder) -> bool:
    try:
        return not folder.read().ended
    except RecordDamaged:
        return True


def _is_dead(owner: Owner | None) -> bool:
    """Files are replaced by rename, so that a living owner's always say who it is: where none does, a crash of the
    machine took them."""
    return owner is None or state_of(owner) is OwnerState.DEAD
