"""A workspace while it lives: made, put back to its start, asked what has changed in it, removed."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from atomic.errors import WorkspaceError
from atomic.record.facts import Changes, WorkspaceStart
from atomic.record.files import place_error
from atomic.record.owner import this_process
from atomic.workspace.copying import copy_files
from atomic.workspace.facts import Plan, WorkspaceNote
from atomic.workspace.git import Git, GitFailed
from atomic.workspace.places import (
    GIT,
    START,
    TREE,
    WORKSPACES,
    empty_tree,
    make_place,
    read_note,
    remove_place,
    stand_tree,
    write_note,
)
from atomic.workspace.private import alternates, excluded, make_repository
from atomic.workspace.source import Listing, list_folder, list_repository, start_commit
from atomic.workspace.state import State


class Workspace:
    """A folder of its own for a run. All methods block."""

    def __init__(self, home: Path, note: WorkspaceNote, place: Path) -> None:
        self._home = home
        self._note = note
        self._place = place
        self._state = State(place / GIT, place / TREE, note.hashed_by)

    @classmethod
    def make(cls, plan: Plan, home: Path, run_id: str) -> Workspace:
        """The files of the plan's folder as they are now, in a new folder of the home. Raises PlaceError, RecordError,
        WorkspaceError; then nothing is left behind."""
        start = WorkspaceStart(mode=plan.mode, top=str(plan.top))
        note = WorkspaceNote(run_id=run_id, owner=this_process(), made_from=start, inside=plan.inside, links=plan.links)
        place = make_place(home, run_id)
        try:
            write_note(place, note)
            with _told(plan.top):
                note = _fill(plan, place, note)
            write_note(place, note)
        except BaseException:
            remove_place(home, run_id)
            raise
        return cls(home, note, place)

    @classmethod
    def found(cls, home: Path, run_id: str) -> Workspace | None:
        """The one of a run, whoever made it; None where there is none, or none that was made whole."""
        place = home / WORKSPACES / run_id
        note = read_note(place)
        return None if note is None or note.tree is None or note.run_id != run_id else cls(home, note, place)

    @property
    def start(self) -> WorkspaceStart:
        """What it was made from."""
        return self._note.made_from

    @property
    def place(self) -> Path:
        """The folder of the whole workspace."""
        return self._place

    @property
    def cwd(self) -> Path:
        """Where the agent works: in the workspace what the user's folder is in his own tree."""
        return Path(os.path.normpath(self._place / TREE / self._note.inside))

    def reset(self) -> None:
        """Everything as it was at the start. Raises PlaceError, RecordError, WorkspaceError."""
        with _told(self._place):
            empty_tree(self._place)
            self._state.restore()
            _place_repositories(self._place)
            _link(self._place / TREE, Path(self.start.top), self._note.links)
            self.cwd.mkdir(0o700, parents=True, exist_ok=True)

    def changes(self, target: Path, *, durable: bool) -> Changes:
        """What has changed since the start, as a patch in the file ``target``. Raises PlaceError, RecordError,
        WorkspaceError."""
        assert self._note.tree is not None, "it was made whole"
        with _told(self._place):
            stand_tree(self._place)
            return self._state.changes(self._note.tree, target, durable=durable)

    def remove(self) -> None:
        """Remove it with all that is in it. Raises PlaceError, RecordError; then the next start tries again."""
        remove_place(self._home, self._note.run_id)


def _fill(plan: Plan, place: Path, note: WorkspaceNote) -> WorkspaceNote:
    """Copy the files, keep their state, and make the agent's repositories."""
    listing = _listing(plan)
    tree = empty_tree(place)
    copied = copy_files(plan.top, tree, listing.files)
    hashed_by, shared, commit = "sha1", b"", None
    if plan.repository is not None:
        hashed_by = Git(plan.top).line("rev-parse", "--show-object-format")
        shared = b"".join(alternates(one) for one in listing.repositories)
        commit = start_commit(plan.repository)
    (place / GIT).mkdir(0o700)
    exclude = excluded(plan.top, plan.repository, plan.links)
    tree_at_start = State(place / GIT, tree, hashed_by).begin(copied, alternates=shared, exclude=exclude)
    (place / START).mkdir(0o700)
    for n, one in enumerate(listing.repositories):
        kept = place / START / str(n)
        kept.mkdir(0o700)
        (kept / "inside").write_bytes(one.inside)
        make_repository(one, kept / "git", plan.links if one is plan.repository else ())
    _place_repositories(place)
    _link(tree, plan.top, plan.links)
    (tree / plan.inside).mkdir(0o700, parents=True, exist_ok=True)
    made_from = note.made_from.model_copy(update={"commit": commit})
    return note.model_copy(update={"tree": tree_at_start, "hashed_by": hashed_by, "made_from": made_from})


def _listing(plan: Plan) -> Listing:
    listing = Listing() if plan.repository is None else list_repository(plan.repository)
    files = list_folder(plan.top).files if plan.mode == "copy" else listing.files
    linked = tuple(os.fsencode(f"{link}/") for link in plan.links)
    return Listing([path for path in files if not (path + b"/").startswith(linked)], listing.repositories)


def _place_repositories(place: Path) -> None:
    """Put the agent's repositories into the tree as they were at the start."""
    for kept in sorted((place / START).iterdir()):
        folder = place / TREE / os.fsdecode((kept / "inside").read_bytes())
        folder.mkdir(0o700, parents=True, exist_ok=True)
        shutil.copytree(kept / "git", folder / ".git")


def _link(tree: Path, top: Path, links: tuple[str, ...]) -> None:
    for link in links:
        if (top / link).is_dir():
            (tree / link).parent.mkdir(0o700, parents=True, exist_ok=True)
            (tree / link).symlink_to(top / link, target_is_directory=True)


@contextlib.contextmanager
def _told(place: Path) -> Iterator[None]:
    """Tell a person what went wrong with a workspace."""
    try:
        yield
    except GitFailed as error:
        raise WorkspaceError(f"the workspace of {place}: {error}", path=str(place), reason=error.said) from error
    except OSError as error:
        named = Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else place
        raise place_error(error, named, "make a workspace: use") from error
