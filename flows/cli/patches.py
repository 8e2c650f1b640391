"""The patch of a recorded run, and where it belongs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from atomic.errors import RecordError, UsageError
from atomic.record import Changes, RunStore, WorkspaceStart
from atomic.text import one_line
from atomic.workspace.source import find_repository

_SUBJECT = 60  # characters of a run's name in a commit's first line


@dataclass(frozen=True, slots=True)
class Patch:
    """A run's patch: its file, the folder that its paths are relative to, and what the record says of it."""

    file: Path
    top: Path
    changes: Changes
    start: WorkspaceStart
    message: str

    def commit(self) -> str:
        """The commit that the run started from. Raises UsageError where there was none."""
        if self.start.commit is None:
            raise UsageError(
                "the run did not start from a commit, which a branch could begin at",
                hint="Without --branch the patch is applied to the files.",
            )
        return self.start.commit


def find_patch(store: RunStore, run: str, cwd: Path | None) -> Patch | None:
    """The patch of a run that ``run`` names; None where it changed nothing. ``cwd`` is a folder in the tree to apply it
    to; None: the one that it was made from. Raises RunNotFound, UsageError for a run without a workspace, RecordError
    where its patch was not kept."""
    folder = store.find(run)
    record = folder.read()
    if record.workspace is None or record.changes is None:
        raise UsageError(
            f"run {record.run_id} has no patch: {'it is on its way' if not record.ended else 'it had no workspace'}",
            hint="`run --workspace worktree` keeps what a run changes as a patch.",
            run_id=record.run_id,
        )
    changes = record.changes
    if not changes.files:
        return None
    file = None if changes.patch is None else folder.path / changes.patch
    if file is None or not file.is_file():
        why = "it was too large to keep" if file is None else f"{file} is missing"
        raise RecordError(f"the patch of run {record.run_id} is not there: {why}", path=str(file or folder.path))
    named = f"{one_line(record.name, _SUBJECT)} ({record.run_id})" if record.name else f"Run {record.run_id}"
    by = f"\n\nAnswered by {one_line(record.answered_by)}." if record.answered_by else ""
    return Patch(file, _top(cwd, record.workspace), changes, record.workspace, named + by)


def _top(cwd: Path | None, start: WorkspaceStart) -> Path:
    """The folder that the patch's paths are relative to."""
    if cwd is None:
        top = Path(start.top)
    else:
        repository = find_repository(cwd) if cwd.is_dir() and start.mode == "worktree" else None
        top = Path(os.path.realpath(cwd)) if repository is None else repository.top
    if not top.is_dir():
        raise UsageError(
            f"{top} is no folder that a patch could be applied to", hint="--cwd names another one.", path=str(top)
        )
    return top
