"""Workspaces: a folder for each run, so that attempts side by side do not trample each other, and a patch of what
changed in it.

`worktree`: the tracked files as they are, and the untracked ones that are not ignored, of the repository that the
agent is to work in. `copy`: every file of a folder. The user's own folder and repository are read, never written to.
"""

from __future__ import annotations

from atomic.workspace.apply import Branch, apply_to_branch, apply_to_tree
from atomic.workspace.facts import Plan
from atomic.workspace.git import environment_within
from atomic.workspace.keeping import keep_changes
from atomic.workspace.live import Workspace
from atomic.workspace.places import read_note, remove_place, workspaces_of
from atomic.workspace.plan import plan_workspace

__all__ = [
    "Branch",
    "Plan",
    "Workspace",
    "apply_to_branch",
    "apply_to_tree",
    "environment_within",
    "keep_changes",
    "plan_workspace",
    "read_note",
    "remove_place",
    "workspaces_of",
]
