"""The workspaces that a dead owner left: what was done in them is put on record, then they go."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from atomic.errors import AtomicError, RecordDamaged, RunNotFound
from atomic.record import AttemptRecord, RunFolder, RunRecord, RunStore
from atomic.record.layout import run_path
from atomic.record.owner import OwnerState, state_of
from atomic.record.totals import changes_of
from atomic.workspace import Workspace, keep_changes, read_note, remove_place, workspaces_of


def save_changes(folder: RunFolder, attempts: Sequence[AttemptRecord]) -> list[AttemptRecord]:
    """The attempts, the last of them with what it changed in the run's workspace: its patch is in its folder, and its
    record written. Blocks. Raises PlaceError, RecordError, WorkspaceError."""
    if not attempts or attempts[-1].changes is not None:
        return list(attempts)
    workspace = Workspace.found(folder.store.home, folder.run_id)
    if workspace is None:
        return list(attempts)
    *before, last = attempts
    place = folder.attempt(last.n)
    last = last.model_copy(update={"changes": keep_changes(workspace, place)})
    place.write(last)
    return [*before, last]


def remove_left(store: RunStore) -> tuple[int, list[str]]:
    """Remove the workspaces of a home whose owner is dead and whose run is over. Returns how many, and what could not
    be removed, and why. Blocks. Raises PlaceError, RecordError where the home cannot be read."""
    removed, failures = 0, []
    alive = {entry.run_id for entry in store.live.entries()}
    for place in workspaces_of(store.home):
        try:
            if place.name not in alive and _is_left(place) and _save_late(store, place):
                remove_place(store.home, place.name)
                removed += 1
        except AtomicError as error:
            failures.append(error.message)
    return removed, failures


def _is_left(place: Path) -> bool:
    """Whether its owner is dead on this machine. One that does not say whose it is was left half made: a run is listed
    as open before its workspace is begun."""
    note = read_note(place)
    return note is None or state_of(note.owner) is OwnerState.DEAD


def _save_late(store: RunStore, place: Path) -> bool:
    """Put on record what its run could not, a full disk say. Whether the workspace may go now."""
    folder = RunFolder(store.spool / run_path(place.name), store)
    if not folder.path.is_dir():
        return _is_on_record(store, place.name)
    try:
        run = folder.read()
    except RecordDamaged:
        return False
    if not run.ended:
        return False  # a recovery is to close it first
    if run.changes is None:
        attempts = save_changes(folder, [attempt.read() for attempt in folder.attempts()])
        folder.write(run.model_copy(update={"changes": changes_of(attempts, _answering(run, attempts))}))
    return True


def _is_on_record(store: RunStore, run_id: str) -> bool:
    try:
        run = store.read(run_id)
    except RunNotFound:
        return True  # nobody has asked for it, or its record was removed
    return run.changes is not None or not run.attempts


def _answering(run: RunRecord, attempts: Sequence[AttemptRecord]) -> int | None:
    if run.status != "answered":
        return None
    return next((one.n for one in attempts if one.verdict is not None and one.verdict.answered), None)
