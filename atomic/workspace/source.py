"""The user's folder as a workspace sees it: which repository it is, and which files come along. Nothing is written."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from atomic.errors import WorkspaceError
from atomic.workspace.git import Git, GitFailed

_GITLINK = b"160000"
_DEEPEST = 20  # repositories within each other: more are a loop or a trap


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository of the user's with its working tree. ``inside`` is where it stands in the outermost one: empty for
    that one itself."""

    top: Path
    git_dir: Path
    common: Path  # the same as git_dir, but for a linked worktree
    inside: bytes = b""


@dataclass(frozen=True, slots=True)
class Listing:
    """What comes along: the files (paths relative to the top, as bytes), and the repositories, the outermost first."""

    files: list[bytes] = field(default_factory=list)
    repositories: list[Repository] = field(default_factory=list)


def find_repository(folder: Path) -> Repository | None:
    """The repository whose working tree the folder is in; None where there is none. Raises WorkspaceError for one that
    git refuses to look at, and for one without a working tree."""
    git = Git(folder)
    try:
        top = git.line("rev-parse", "--show-toplevel")
        git_dir = git.line("rev-parse", "--absolute-git-dir")
        common = git.line("rev-parse", "--git-common-dir")
    except GitFailed as error:
        if "not a git repository" in error.said:
            return None
        raise WorkspaceError(
            f"git cannot use the repository of {folder}: {error.said}",
            hint="See what `git status` says there.",
            path=str(folder),
            reason=error.said,
        ) from error
    return Repository(Path(top), Path(git_dir), Path(os.path.realpath(folder / common)))


def list_repository(repository: Repository) -> Listing:
    """Its tracked files and its untracked ones that are not ignored, as far as they are there, with those of the
    repositories in it: submodules that are checked out, and others. Raises GitFailed."""
    listing = Listing()
    _list(repository, listing, 0)
    return listing


def list_folder(folder: Path) -> Listing:
    """Every file below a folder, but for those of git itself."""
    listing = Listing()
    root = os.fsencode(folder)
    for parent, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name != b".git"]
        links = [name for name in folders if os.path.islink(os.path.join(parent, name))]  # noqa: PTH114, PTH118
        inside = os.path.relpath(parent, root)
        prefix = b"" if inside == b"." else inside + b"/"
        listing.files.extend(prefix + name for name in (*files, *links) if name != b".git")
    return listing


def _list(repository: Repository, listing: Listing, depth: int) -> None:
    if depth > _DEEPEST:
        return
    listing.repositories.append(repository)
    git = Git(repository.top)
    prefix = repository.inside
    seen: set[bytes] = set()
    within: list[bytes] = []
    for entry in git.run("ls-files", "-z", "--stage").split(b"\0"):
        if not entry:
            continue
        facts, _, path = entry.partition(b"\t")
        if facts.startswith(_GITLINK):
            within.append(path)
        elif path not in seen:  # one in conflict is there up to three times
            seen.add(path)
            listing.files.append(prefix + path)
    for path in git.run("ls-files", "-z", "--others", "--exclude-standard").split(b"\0"):
        if path.endswith(b"/"):
            within.append(path.rstrip(b"/"))
        elif path:
            listing.files.append(prefix + path)
    for path in within:
        inner = _inner(repository, path)
        if inner is not None:
            _list(inner, listing, depth + 1)


def _inner(outer: Repository, path: bytes) -> Repository | None:
    """The repository that stands at a path of another one; None where it is not checked out."""
    place = outer.top / os.fsdecode(path)
    if not os.path.lexists(place / ".git") or not is_inside(outer.top, path):
        return None
    found = find_repository(place)
    if found is None or found.top != Path(os.path.realpath(place)):
        return None
    return Repository(place, found.git_dir, found.common, outer.inside + path + b"/")


def is_inside(top: Path, path: bytes) -> bool:
    """Whether a path leads to what is really below ``top``: no folder on the way is a link."""
    place = os.fsencode(top)
    for part in path.split(b"/")[:-1]:
        place = place + b"/" + part
        try:
            if not stat.S_ISDIR(os.lstat(place).st_mode):
                return False
        except OSError:
            return False
    return True


def start_commit(repository: Repository) -> str | None:
    """The commit that is checked out; None where there is none yet."""
    try:
        return Git(repository.top).line("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
    except GitFailed:
        return None


def refs(repository: Repository) -> Iterator[tuple[str, str]]:
    """Branches, remote branches and tags with their objects; nothing else, no stash above all."""
    found = Git(repository.top).run(
        "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/remotes", "refs/tags"
    )
    for line in os.fsdecode(found).splitlines():
        oid, _, name = line.partition(" ")
        yield oid, name
