"""Removing workspaces: whatever an agent has put into one, it goes, and nothing else does."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atomic.errors import PlaceError
from atomic.record.layout import is_run_id
from atomic.workspace import Workspace, plan_workspace, remove_place, workspaces_of
from tests.projects import git, project, state_of, write

RUN = "20261201-101010-abcdefgh"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def user(tmp_path: Path) -> Path:
    return project(tmp_path / "user")


@pytest.fixture
def workspace(user: Path, home: Path) -> Workspace:
    plan = plan_workspace("worktree", user)
    assert plan is not None
    return Workspace.make(plan, home, RUN)


def gone(home: Path) -> bool:
    return not list((home / "workspaces").iterdir())


def test_links_are_removed_and_what_they_point_to_stays(
    workspace: Workspace, user: Path, home: Path, tmp_path: Path
) -> None:
    precious = tmp_path / "precious"
    write(precious, {"a.txt": "a", "b/c.txt": "c"})
    before = state_of(user), state_of(precious)
    cwd = workspace.cwd
    (cwd / "home").symlink_to(Path.home(), target_is_directory=True)
    (cwd / "up").symlink_to("../../../..")
    (cwd / "loop").symlink_to("loop")
    subprocess.run(["rm", "-rf", cwd / "src"], check=True)
    (cwd / "src").symlink_to(precious, target_is_directory=True)  # a folder of the project, and now a link
    os.link(precious / "a.txt", cwd / "hard.txt")
    os.mkfifo(cwd / "pipe")
    workspace.reset()
    assert (cwd / "src" / "main.py").read_text() == "print(1)\n"
    (cwd / "src" / "again").symlink_to(precious, target_is_directory=True)
    workspace.remove()
    assert gone(home)
    assert (state_of(user), state_of(precious)) == before


def test_folders_that_are_shut_or_deep_or_oddly_named_go_too(workspace: Workspace, home: Path) -> None:
    cwd = workspace.cwd
    write(cwd, {"shut/in/a.txt": "a"})
    (cwd / "shut" / "in").chmod(0)
    (cwd / "shut").chmod(0o500)
    Path(os.fsdecode(os.fsencode(cwd) + b"/\xff\n")).mkdir()
    at = os.open(cwd, os.O_RDONLY)
    for _ in range(1500):  # deeper than a path may be long, and than a process may hold folders open
        os.mkdir("deep", dir_fd=at)
        inner = os.open("deep", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)
    workspace.remove()
    assert gone(home)


def test_a_repository_of_the_users_in_the_place_of_the_agents_own_is_left_alone(
    workspace: Workspace, user: Path, home: Path, tmp_path: Path
) -> None:
    before = state_of(user)
    cwd = workspace.cwd
    subprocess.run(["rm", "-rf", cwd / ".git"], check=True)
    (cwd / ".git").write_text(f"gitdir: {user}/.git\n")
    write(cwd, {"notes.txt": "agent\n"})
    patch = tmp_path / "changes.patch"
    assert workspace.changes(patch, durable=False).files == 1
    workspace.reset()
    assert git(cwd, "rev-parse", "--absolute-git-dir").strip() == str(cwd / ".git")
    workspace.remove()
    assert gone(home)
    assert state_of(user) == before


def test_nothing_that_the_agent_configures_is_run(workspace: Workspace, tmp_path: Path) -> None:
    cwd, trap = workspace.cwd, tmp_path / "trap"
    run = f"touch {trap}; cat"
    for folder in (cwd / ".git", cwd.parent / "git"):  # our own repository beside the tree, too
        with (folder / "config").open("a") as config:
            config.write(
                f'[core]\n\tfsmonitor = "{run}"\n\thooksPath = {tmp_path}/hooks\n\tpager = "{run}"\n'
                f'[filter "x"]\n\tclean = "{run}"\n\tsmudge = "{run}"\n\tprocess = "{run}"\n\trequired = true\n'
                f'[diff]\n\texternal = "{run}"\n[diff "x"]\n\ttextconv = "{run}"\n\tcommand = "{run}"\n'
            )
        (folder / "hooks").mkdir(exist_ok=True)
        for hook in ("post-checkout", "post-index-change", "reference-transaction"):
            (folder / "hooks" / hook).write_text(f"#!/bin/sh\ntouch {trap}\n")
            (folder / "hooks" / hook).chmod(0o755)
    write(cwd, {".gitattributes": "* filter=x diff=x\n", "notes.txt": "agent\n"})
    assert workspace.changes(tmp_path / "changes.patch", durable=False).files == 2
    workspace.reset()
    assert not trap.exists()


def test_a_link_in_the_place_of_the_workspaces_is_not_followed(home: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    write(elsewhere, {f"{RUN}/tree/precious.txt": "x"})
    home.mkdir()
    (home / "workspaces").symlink_to(elsewhere, target_is_directory=True)
    with pytest.raises(PlaceError, match="a link"):
        remove_place(home, RUN)
    with pytest.raises(PlaceError, match="a link"):
        workspaces_of(home)
    assert (elsewhere / RUN / "tree" / "precious.txt").exists()


def test_a_link_in_the_place_of_one_workspace_is_not_followed(home: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    write(precious, {"a.txt": "a"})
    (home / "workspaces").mkdir(parents=True)
    (home / "workspaces" / RUN).symlink_to(precious, target_is_directory=True)
    remove_place(home, RUN)
    assert gone(home)
    assert (precious / "a.txt").exists()


@given(st.text(max_size=40) | st.sampled_from(["..", ".", "", "../x", "/etc", f"{RUN}/..", f"../{RUN}"]))
def test_only_names_of_runs_are_ever_removed(name: str) -> None:
    if not is_run_id(name):
        with pytest.raises(ValueError, match="not a run id"):
            remove_place(Path("/nowhere"), name)


def test_what_is_no_workspace_stays(home: Path) -> None:
    write(home / "workspaces", {"mine.txt": "x", "folder/a.txt": "x"})
    assert workspaces_of(home) == []
