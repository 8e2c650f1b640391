"""Bringing a run's patch into the user's tree, or onto a branch of its own: whole, or not at all."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from atomic.errors import PatchRefused, UsageError, WorkspaceError
from atomic.workspace.git import Git, GitFailed, require_git
from atomic.workspace.source import find_repository
from atomic.workspace.state import State

_APPLY = ("apply", "--whitespace=nowarn", "-p1")
_IN_THE_WAY = re.compile(
    r"error: (.+?): (?:patch does not apply|already exists|No such file|does not |wrong type|is beyond)"
)
_SHOWN = 10  # files that a message names
_NOBODY = ("-c", "user.name=atomic-flows", "-c", "user.email=atomic-flows@localhost")


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch to make: its name, the commit that it begins at, and what its commit says."""

    name: str
    start: str
    message: str


def apply_to_tree(patch: Path, top: Path) -> None:
    """Apply a patch to the files below ``top``, to the byte: no line endings are converted, no filters run, and the
    index stays as it is. Blocks. Raises PatchRefused, when nothing was changed, and WorkspaceError."""
    require_git()
    with tempfile.TemporaryDirectory() as folder:
        git = State(Path(folder, "git"), top).lay()
        try:
            git.run(*_APPLY, "--check", str(patch))
        except GitFailed as error:
            raise _refused(git, patch, top, error) from error
        try:
            git.run(*_APPLY, str(patch))
        except GitFailed as error:
            raise WorkspaceError(
                f"the patch fits, and git could not write all of it: {error.said}",
                hint=f"See what `git status` says in {top}.",
                path=str(top),
                reason=error.said,
            ) from error


def apply_to_branch(patch: Path, top: Path, branch: Branch) -> str:
    """Make a branch that holds the patch as one commit, and return the commit; neither the index nor a file of the tree
    is touched. Blocks. Raises PatchRefused, UsageError for a name that is none, WorkspaceError."""
    require_git()
    repository = find_repository(top)
    if repository is None:
        raise WorkspaceError(f"a branch needs a git repository, and {top} is in none", path=str(top), reason="none")
    git = Git(repository.top)
    ref = f"refs/heads/{branch.name}"
    try:
        git.run("check-ref-format", "--branch", branch.name)
    except GitFailed as error:
        raise UsageError(f"{branch.name!r} is no name for a branch", hint="Give one like fix-4711.") from error
    if _there(git, ref):
        raise PatchRefused(f"the branch {branch.name} is there already", hint="Give another name.", files=[])
    if not _there(git, f"{branch.start}^{{commit}}"):
        raise PatchRefused(
            f"the commit that the run started from is not in {repository.top}: {branch.start}",
            hint="Without --branch the patch is applied to the files.",
            files=[],
        )
    with tempfile.TemporaryDirectory() as folder:
        git = replace(git, index=Path(folder, "index"))
        try:
            git.run("read-tree", branch.start)
            git.run(*_APPLY, "--cached", str(patch))
            tree = git.line("write-tree")
        except GitFailed as error:
            files = _named(error)
            raise PatchRefused(
                f"the patch does not fit the commit that the run started from{_listed(files)}: {error.said}",
                hint="It changes what was not committed at the start, or a submodule: apply it without --branch.",
                files=files,
            ) from error
        identity = () if _there(git, None) else _NOBODY
        commit = git.line(*identity, "commit-tree", tree, "-p", branch.start, "-m", branch.message)
        try:
            git.run("update-ref", "-m", "atomic-flows apply", ref, commit, "0" * len(commit))
        except GitFailed as error:  # made meanwhile, or a branch `a` stands where `a/b` is meant
            raise PatchRefused(f"the branch {branch.name} cannot be made: {error.said}", files=[]) from error
    return commit


def _there(git: Git, name: str | None) -> bool:
    """Whether the repository has an object or a ref of that name; without one, whether it knows who commits."""
    try:
        git.run(*(("var", "GIT_COMMITTER_IDENT") if name is None else ("rev-parse", "--quiet", "--verify", name)))
    except GitFailed:
        return False
    return True


def _refused(git: Git, patch: Path, top: Path, error: GitFailed) -> PatchRefused:
    try:
        git.run(*_APPLY, "--check", "--reverse", str(patch))
    except GitFailed:
        files = _named(error)
        return PatchRefused(
            f"the patch does not fit {top}, and nothing was changed{_listed(files)}: {error.said}",
            hint="Put these changes away (git stash), or take --branch NAME.",
            files=files,
        )
    return PatchRefused(f"the changes are in {top} already", hint="Nothing is left to do.", files=[])


def _named(error: GitFailed) -> list[str]:
    """The files that git names as being in the way."""
    return list(dict.fromkeys(found[1] for line in error.lines if (found := _IN_THE_WAY.match(line))))


def _listed(files: list[str]) -> str:
    return f" (in the way: {', '.join(files[:_SHOWN])}{' …' if len(files) > _SHOWN else ''})" if files else ""
