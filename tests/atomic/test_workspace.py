"""Workspaces: what comes along, what a patch holds, and that nothing of the user's is changed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from atomic.errors import WorkspaceError
from atomic.settings import WorkspaceMode
from atomic.workspace import Workspace, plan_workspace
from tests.projects import git, project, state_of, write

RUN = "20261201-101010-abcdefgh"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def user(tmp_path: Path) -> Path:
    return project(tmp_path / "user")


def make(folder: Path, home: Path, *, mode: WorkspaceMode = "worktree", links: tuple[str, ...] = ()) -> Workspace:
    plan = plan_workspace(mode, folder, links)
    assert plan is not None
    return Workspace.make(plan, home, RUN)


def patch_of(workspace: Workspace, tmp_path: Path) -> str:
    target = tmp_path / "changes.patch"
    changes = workspace.changes(target, durable=False)
    return "" if changes.patch is None else target.read_text("utf-8", "replace")


def apply(folder: Path, patch: Path) -> None:
    subprocess.run(["git", "apply", str(patch)], cwd=folder, check=True, capture_output=True)


def test_tracked_changes_and_untracked_files_come_along_and_ignored_ones_do_not(user: Path, home: Path) -> None:
    cwd = make(user, home).cwd
    assert (cwd / "notes.txt").read_text() == "one\ntwo, changed\nthree\n"
    assert (cwd / "draft.txt").read_text() == "untracked\n"
    assert not (cwd / "debug.log").exists()
    assert (cwd / "run.sh").stat().st_mode & 0o100
    # To the agent it looks as to the user: what he has not committed is not committed, what he staged is staged.
    assert git(cwd, "status", "--short") == git(user, "status", "--short")
    assert git(cwd, "branch", "--list") == git(user, "branch", "--list")


def test_the_agent_works_in_the_same_folder_of_the_tree(user: Path, home: Path) -> None:
    workspace = make(user / "src", home)
    assert [path.name for path in workspace.cwd.iterdir()] == ["main.py"]


def test_nothing_of_the_users_changes_whatever_the_agent_does_with_git(user: Path, home: Path, tmp_path: Path) -> None:
    before = state_of(user)
    workspace = make(user, home)
    cwd = workspace.cwd
    write(cwd, {"notes.txt": "agent\n"})
    git(cwd, "stash")
    git(cwd, "stash", "drop")
    git(cwd, "branch", "-D", "other")
    git(cwd, "checkout", "-q", "-b", "mine")
    git(cwd, "commit", "-qm", "agent", "--allow-empty")
    git(cwd, "reflog", "expire", "--expire=now", "--all")
    git(cwd, "gc", "-q", "--prune=now")
    git(cwd, "config", "user.name", "agent")
    workspace.changes(tmp_path / "changes.patch", durable=False)
    workspace.reset()
    workspace.remove()
    assert state_of(user) == before
    assert not Path(f"{user}.hooked").exists(), "the user's hooks are not the agent's"
    assert git(user, "fsck", "--connectivity-only") == ""


def test_a_patch_holds_commits_new_files_binary_files_deletions_and_modes(
    user: Path, home: Path, tmp_path: Path
) -> None:
    workspace = make(user, home)
    cwd = workspace.cwd
    write(cwd, {"notes.txt": "one\ntwo, changed\nthree, too\n", "new/deep.txt": "new\n", "trace.log": "ignored\n"})
    git(cwd, "add", "-A")
    git(cwd, "commit", "-qm", "the agent's own")
    (cwd / "logo.bin").write_bytes(b"\0\1\2" * 500)
    (cwd / "added.bin").write_bytes(bytes(range(255, 0, -1)))
    (cwd / "draft.txt").unlink()
    (cwd / "run.sh").chmod(0o644)
    (cwd / "link").symlink_to("notes.txt")
    patch = tmp_path / "changes.patch"
    changes = workspace.changes(patch, durable=True)
    assert (changes.files, changes.insertions, changes.deletions) == (7, 5, 2)
    assert changes.bytes == patch.stat().st_size
    apply(user, patch)
    expected = {name: facts.split(" ")[1] for name, facts in state_of(cwd).items() if not name.startswith(".git/")}
    del expected["trace.log"], expected[".git"]
    found = {name: facts.split(" ")[1] for name, facts in state_of(user).items() if not name.startswith(".git/")}
    del found["debug.log"], found[".git"]
    assert found == expected
    assert not (user / "run.sh").stat().st_mode & 0o111


def test_a_fresh_attempt_finds_it_as_it_was_at_the_start(user: Path, home: Path, tmp_path: Path) -> None:
    workspace = make(user, home)
    cwd = workspace.cwd
    before = {name: facts for name, facts in state_of(cwd).items() if not name.startswith(".git")}
    status = git(cwd, "status", "--short")
    write(cwd, {"notes.txt": "half done\n", "src/more.py": "", "cache.log": "ignored, too\n"})
    git(cwd, "commit", "-qam", "half done")
    (cwd / "logo.bin").unlink()
    (cwd / ".git" / "hooks").mkdir()
    (cwd / ".git" / "hooks" / "post-checkout").write_text("#!/bin/sh\nexit 1\n")
    write(user, {"notes.txt": "the user goes on\n"})
    workspace.reset()
    after = {name: facts.split(" ")[1] for name, facts in state_of(cwd).items() if not name.startswith(".git")}
    assert after == {name: facts.split(" ")[1] for name, facts in before.items()}
    assert git(cwd, "status", "--short") == status
    assert git(cwd, "log", "--format=%s") == "first\n"
    assert patch_of(workspace, tmp_path) == ""


def test_a_workspace_that_was_removed_has_left_nothing(user: Path, home: Path) -> None:
    workspace = make(user, home)
    workspace.remove()
    assert list((home / "workspaces").iterdir()) == []
    workspace.remove()  # again is no error


def test_repositories_that_the_agent_makes_are_in_the_patch_with_their_files(
    user: Path, home: Path, tmp_path: Path
) -> None:
    workspace = make(user, home)
    git(workspace.cwd, "init", "-q", "inner")
    write(workspace.cwd, {"inner/a.txt": "a\n", "inner/b.log": "ignored\n"})
    patch = patch_of(workspace, tmp_path)
    assert "inner/a.txt" in patch
    assert "b.log" not in patch
    assert "Subproject" not in patch


def test_line_endings_and_filters_are_left_as_they_are(user: Path, home: Path, tmp_path: Path) -> None:
    write(user, {".gitattributes": "*.txt text eol=crlf\n*.big filter=lfs diff=lfs -text\n*.c ident\n"})
    git(user, "config", "filter.lfs.clean", f"touch {tmp_path}/cleaned; cat")
    git(user, "config", "filter.lfs.smudge", f"touch {tmp_path}/smudged; cat")
    git(user, "config", "diff.lfs.textconv", f"touch {tmp_path}/converted; cat")
    write(user, {"dos.txt": "a\r\nb\r\n", "data.big": "raw\0content\n", "x.c": "$Id: whatever $\n"})
    workspace = make(user, home)
    assert (workspace.cwd / "dos.txt").read_bytes() == b"a\r\nb\r\n"
    write(workspace.cwd, {"dos.txt": "a\r\nb\r\nc\r\n", "data.big": "other\0content\n", "x.c": "$Id: whatever $\n//\n"})
    patch = tmp_path / "changes.patch"
    assert workspace.changes(patch, durable=False).files == 3
    workspace.reset()
    assert (workspace.cwd / "data.big").read_text() == "raw\0content\n"
    assert not any((tmp_path / name).exists() for name in ("cleaned", "smudged", "converted"))


def test_linked_folders_are_the_users_own_and_no_change(user: Path, home: Path, tmp_path: Path) -> None:
    write(user, {"node_modules/x/index.js": "x\n"})
    workspace = make(user, home, links=("node_modules", "not-there"))
    assert (workspace.cwd / "node_modules" / "x" / "index.js").read_text() == "x\n"
    assert git(workspace.cwd, "status", "--short") == git(user, "status", "--short")
    assert patch_of(workspace, tmp_path) == ""
    workspace.reset()
    workspace.remove()
    assert (user / "node_modules" / "x" / "index.js").read_text() == "x\n"


@pytest.mark.parametrize("link", ["/etc", "../other", "a/../../b", ".git", "src/.GIT/x", "", "out", "notes.txt", "src"])
def test_links_that_lead_elsewhere_or_hold_tracked_files_are_refused(user: Path, link: str) -> None:
    (user / "out").symlink_to("/tmp")
    with pytest.raises(WorkspaceError, match="workspace_links"):
        plan_workspace("worktree", user, (link,))


def test_a_folder_without_a_repository_needs_a_copy(tmp_path: Path, home: Path) -> None:
    folder = tmp_path / "plain"
    write(folder, {"a.txt": "a\n", "b/c.txt": "c\n"})
    with pytest.raises(WorkspaceError) as caught:
        plan_workspace("worktree", folder)
    assert 'workspace = "copy"' in (caught.value.hint or "")
    workspace = make(folder, home, mode="copy")
    write(workspace.cwd, {"a.txt": "changed\n", "b/d.txt": "new\n"})
    patch = tmp_path / "changes.patch"
    assert workspace.changes(patch, durable=False).files == 2
    assert (folder / "a.txt").read_text() == "a\n"
    apply(folder, patch)
    assert (folder / "b" / "d.txt").read_text() == "new\n"


def test_a_machine_without_git_says_so(user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(WorkspaceError, match="no git on PATH"):
        plan_workspace("worktree", user)


def test_repositories_of_every_sort(tmp_path: Path, home: Path) -> None:
    """One without a commit, a linked worktree, a submodule, a sparse checkout, a conflict, odd names."""
    unborn = tmp_path / "unborn"
    unborn.mkdir()
    git(unborn, "init", "-q")
    write(unborn, {"a b\n\tü.txt": "x\n", '"quoted"': "y\n"})
    _changes_one_file(unborn, home, tmp_path, "a b\n\tü.txt")

    user = project(tmp_path / "user")
    linked = tmp_path / "linked"
    git(user, "worktree", "add", "-q", str(linked), "other")
    _changes_one_file(linked, home, tmp_path, "notes.txt")

    git(user, "commit", "-qam", "second", "--no-verify")
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    git(outer, "submodule", "add", "-q", str(user), "lib")
    git(outer, "commit", "-qm", "with a submodule")
    _changes_one_file(outer, home, tmp_path, "lib/notes.txt")

    sparse = tmp_path / "sparse"
    git(tmp_path, "clone", "-q", str(user), str(sparse))
    git(sparse, "sparse-checkout", "set", "--no-cone", "/src/")
    _changes_one_file(sparse, home, tmp_path, "src/main.py")


def _changes_one_file(folder: Path, home: Path, tmp_path: Path, name: str) -> None:
    before = state_of(folder)
    workspace = make(folder, home)
    there = {path for path in state_of(folder) if not path.startswith(".git") and "/.git" not in path}
    assert {path for path in state_of(workspace.cwd) if ".git" not in path} == {x for x in there if ".log" not in x}
    assert git(workspace.cwd, "status", "--short", "-z") == git(folder, "status", "--short", "-z")
    write(workspace.cwd, {name: "changed\n"})
    patch = tmp_path / "one.patch"
    assert workspace.changes(patch, durable=False).files == 1
    workspace.reset()
    assert patch_of(workspace, tmp_path) == ""
    workspace.remove()
    assert state_of(folder) == before
    apply(folder, patch)
    assert (folder / name).read_text() == "changed\n"
