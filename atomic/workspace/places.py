"""Where workspaces are: ``workspaces/<run id>`` in the home, and how they are removed.

<run id>/   workspace.json  whose it is
    tree/   the files the agent works on, with a repository of its own
    git/    the state of the files at the start, by which changes are told
    start/  the agent's repositories as they were at the start
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from atomic.errors import PlaceError, RecordError
from atomic.record.files import encode, make_folder, place_error, read_object, write_file
from atomic.record.layout import is_run_id
from atomic.workspace.facts import WorkspaceNote
from atomic.workspace.removing import names_in, open_folder, opened, permit, remove_within

WORKSPACES = "workspaces"
TREE, GIT, START, NOTE = "tree", "git", "start", "workspace.json"


def make_place(home: Path, run_id: str) -> Path:
    """A new, empty folder for a run's workspace. Raises PlaceError, RecordError."""
    place = home / WORKSPACES / run_id
    make_folder(home / WORKSPACES)
    with _workspaces(home) as folder:
        try:
            os.mkdir(run_id, 0o700, dir_fd=folder)
        except OSError as error:
            raise place_error(error, place, "make the folder") from error
    return place


def write_note(place: Path, note: WorkspaceNote) -> None:
    """Write what the workspace is. Raises PlaceError, RecordError."""
    write_file(place / NOTE, encode(note.model_dump(mode="json")))


def read_note(place: Path) -> WorkspaceNote | None:
    """What a workspace's note says; None where it says nothing that can be read."""
    try:
        return WorkspaceNote.model_validate(read_object(place / NOTE))
    except (FileNotFoundError, RecordError, PlaceError, ValueError):
        return None


def workspaces_of(home: Path) -> list[Path]:
    """The workspaces of a home, whoever has them. Raises PlaceError, RecordError."""
    try:
        with _workspaces(home) as folder:
            names = sorted(name for name in names_in(folder) if is_run_id(name))
    except FileNotFoundError:
        return []
    return [home / WORKSPACES / name for name in names]


def remove_place(home: Path, run_id: str) -> None:
    """Remove a workspace; its note goes last, so that a kill on the way leaves one that the next start removes. One
    that is not there is no error. Nothing outside of it is touched. Blocks. Raises PlaceError, RecordError."""
    if not is_run_id(run_id):
        raise ValueError(f"not a run id: {run_id!r}")
    try:
        with _workspaces(home) as folder:
            with contextlib.suppress(NotADirectoryError):  # a link: it goes itself
                inside = open_folder(run_id, within=folder)
                try:
                    for name in names_in(inside):
                        if name != NOTE:
                            remove_within(inside, name)
                finally:
                    os.close(inside)
            remove_within(folder, run_id)
    except FileNotFoundError:
        return
    except OSError as error:
        raise place_error(error, home / WORKSPACES / run_id, "remove the workspace") from error


def empty_tree(place: Path) -> Path:
    """The folder for the files, empty and new. Raises OSError."""
    with opened(place) as folder:
        remove_within(folder, TREE)
        os.mkdir(TREE, 0o700, dir_fd=folder)
    return place / TREE


def stand_tree(place: Path) -> None:
    """See that the folder for the files is one: where an agent removed it, or put a link or a file in its place, all
    files are gone from it, and nothing is looked at that the link leads to. Raises OSError."""
    with opened(place) as folder:
        try:
            os.close(open_folder(TREE, within=folder))
        except FileNotFoundError:
            os.mkdir(TREE, 0o700, dir_fd=folder)
        except NotADirectoryError:
            remove_within(folder, TREE)
            os.mkdir(TREE, 0o700, dir_fd=folder)
        except PermissionError:
            permit(TREE, 0o700, within=folder)


@contextlib.contextmanager
def _workspaces(home: Path) -> Iterator[int]:
    """The folder of the workspaces, open. Raises FileNotFoundError where there is none, PlaceError where something
    else stands in its place: a link could lead anywhere."""
    try:
        folder = open_folder(home / WORKSPACES)
    except NotADirectoryError as error:
        raise PlaceError(
            f"{home / WORKSPACES} is no folder, or a link: workspaces are neither made nor removed there",
            hint="Move it away; the place for workspaces goes with ATOMIC_FLOWS_HOME.",
            path=str(home / WORKSPACES),
            reason="not a folder",
        ) from error
    try:
        yield folder
    finally:
        os.close(folder)
