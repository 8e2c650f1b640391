"""Whether a workspace can be made: looked at before anything is spent."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from atomic.errors import WorkspaceError
from atomic.settings import WorkspaceMode
from atomic.workspace.facts import Plan
from atomic.workspace.git import Git, GitFailed, require_git
from atomic.workspace.source import find_repository


def plan_workspace(mode: WorkspaceMode, cwd: Path, links: Sequence[str] = ()) -> Plan | None:
    """The workspace of a run in the folder ``cwd`` (whole, without links); None where it works in the folder itself.
    ``links`` are folders of the project, relative to its top, that are linked and not copied; one that is not there is
    passed over. Blocks for some milliseconds. Raises WorkspaceError."""
    if mode == "shared":
        return None
    require_git()
    repository = find_repository(cwd)
    if repository is None and mode == "worktree":
        raise WorkspaceError(
            f'workspace = "worktree" needs a git repository, and {cwd} is in none',
            hint='workspace = "copy" copies the folder; "shared" lets the agent work in it.',
            path=str(cwd),
            reason="no repository",
        )
    top = cwd if repository is None else repository.top
    for link in links:
        _check_link(link, top)
    if repository is not None:
        _refuse_tracked(links, top)
    return Plan(mode, top, os.path.relpath(cwd, top), tuple(links), repository)


def _check_link(link: str, top: Path) -> None:
    """Raises WorkspaceError for a name that could lead out of the project, or to its history."""
    path = PurePosixPath(link)
    parts = path.parts
    if not parts or path.is_absolute() or ".." in parts or not link.isprintable():
        raise _bad_link(link, "it is no path from the project's top down")
    if any(part.lower() == ".git" for part in parts):
        raise _bad_link(link, "it would give the agent the project's own repository")
    place = top / path
    if os.path.lexists(place):
        if not place.is_dir():
            raise _bad_link(link, "it is not a folder")
        if not Path(os.path.realpath(place)).is_relative_to(os.path.realpath(top)):
            raise _bad_link(link, "it leads out of the project")


def _refuse_tracked(links: Sequence[str], top: Path) -> None:
    names = [f":(top,literal){link}" for link in links]
    try:
        tracked = os.fsdecode(Git(top).run("ls-files", "-z", "--", *names)) if links else ""
    except GitFailed as error:
        raise WorkspaceError(f"git cannot list {top}: {error.said}", path=str(top), reason=error.said) from error
    if tracked:
        first = tracked.partition("\0")[0]
        link = next(link for link in links if f"{first}/".startswith(f"{PurePosixPath(link)}/"))
        raise _bad_link(link, f"git tracks {first} in it, and what is linked is shared with the user's own folder")


def _bad_link(link: str, why: str) -> WorkspaceError:
    return WorkspaceError(
        f"workspace_links: {link!r} cannot be linked: {why}",
        hint='Name folders of the project that git ignores: workspace_links = ["node_modules"].',
        link=link,
        reason=why,
    )
