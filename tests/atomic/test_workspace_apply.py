"""Bringing a patch into the user's tree, or onto a branch: whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from atomic.errors import PatchRefused, UsageError, WorkspaceError
from atomic.workspace import Branch, Workspace, apply_to_branch, apply_to_tree, plan_workspace
from tests.projects import git, project, state_of, write

RUN = "20261201-101010-abcdefgh"


@pytest.fixture
def user(tmp_path: Path) -> Path:
    folder = project(tmp_path / "user")
    write(folder, {".gitattributes": "*.dos text eol=crlf\n*.big filter=big\n", "a.dos": "a\r\n", "b.big": "raw\n"})
    git(folder, "config", "filter.big.clean", "false")
    git(folder, "config", "filter.big.required", "true")
    return folder


def patch_of(user: Path, tmp_path: Path, files: dict[str, str]) -> Path:
    """The patch of an agent that writes these files."""
    plan = plan_workspace("worktree", user)
    assert plan is not None
    workspace = Workspace.make(plan, tmp_path / "home", RUN)
    write(workspace.cwd, files)
    patch = tmp_path / "changes.patch"
    assert workspace.changes(patch, durable=False).files == len(files)
    workspace.remove()
    return patch


def test_it_is_applied_to_the_byte_and_nothing_is_staged(user: Path, tmp_path: Path) -> None:
    files = {"notes.txt": "one\ntwo, changed\n3\n", "a.dos": "a\r\nb\r\n", "b.big": "raw, too\n", "new/x.txt": "x\n"}
    patch = patch_of(user, tmp_path, files)
    index = (user / ".git" / "index").read_bytes()
    apply_to_tree(patch, user)
    assert {name: (user / name).read_bytes().decode() for name in files} == files
    assert (user / ".git" / "index").read_bytes() == index
    with pytest.raises(PatchRefused, match="already"):
        apply_to_tree(patch, user)


def test_what_is_in_the_way_is_named_and_nothing_is_changed(user: Path, tmp_path: Path) -> None:
    files = {"notes.txt": "one\ntwo, changed\n3\n", "new.txt": "new\n", "src/main.py": "print(2)\n"}
    patch = patch_of(user, tmp_path, files)
    write(user, {"notes.txt": "the user went on\n", "new.txt": "the user's\n"})
    before = state_of(user)
    with pytest.raises(PatchRefused) as caught:
        apply_to_tree(patch, user)
    assert caught.value.files == ["new.txt", "notes.txt"]
    assert state_of(user) == before


def test_a_branch_is_made_and_neither_index_nor_files_are_touched(user: Path, tmp_path: Path) -> None:
    patch = patch_of(user, tmp_path, {"src/main.py": "print(2)\n"})
    commit = git(user, "rev-parse", "HEAD").strip()
    before = {name: facts for name, facts in state_of(user).items() if not name.startswith(".git/")}
    index = (user / ".git" / "index").read_bytes()
    made = apply_to_branch(patch, user, Branch("fix/x", commit, "Fix x"))
    assert git(user, "log", "--format=%H %P %s", "-1", "fix/x").strip() == f"{made} {commit} Fix x"
    assert git(user, "diff", "--name-only", "HEAD", "fix/x") == "src/main.py\n"
    assert {name: facts for name, facts in state_of(user).items() if not name.startswith(".git/")} == before
    assert (user / ".git" / "index").read_bytes() == index
    assert not Path(f"{user}.hooked").exists()
    for taken in ("fix/x", "fix"):
        with pytest.raises(PatchRefused, match="branch"):
            apply_to_branch(patch, user, Branch(taken, commit, "again"))
    with pytest.raises(UsageError, match="no name"):
        apply_to_branch(patch, user, Branch("a..b", commit, ""))


def test_a_patch_on_what_was_not_committed_makes_no_branch(user: Path, tmp_path: Path) -> None:
    patch = patch_of(user, tmp_path, {"draft.txt": "untracked, and changed\n"})
    refs = git(user, "for-each-ref")
    with pytest.raises(PatchRefused, match=r"draft\.txt"):
        apply_to_branch(patch, user, Branch("x", git(user, "rev-parse", "HEAD").strip(), ""))
    assert git(user, "for-each-ref") == refs


def test_a_hostile_patch_reaches_nothing_outside(user: Path, tmp_path: Path) -> None:
    (user / "out").symlink_to(tmp_path, target_is_directory=True)
    patch = tmp_path / "hostile.patch"
    for path in ("../escaped.txt", "out/escaped.txt", ".git/hooks/pre-push", str(tmp_path / "escaped.txt")):
        patch.write_text(f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n")
        with pytest.raises(PatchRefused):
            apply_to_tree(patch, user)
    assert not (tmp_path / "escaped.txt").exists()
    assert not (user / ".git" / "hooks" / "pre-push").exists()


def test_no_branch_without_a_repository(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="repository"):
        apply_to_branch(tmp_path / "x.patch", tmp_path, Branch("x", "0" * 40, ""))
