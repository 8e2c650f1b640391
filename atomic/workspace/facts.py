"""What is known of a workspace: as it is planned, and as its own file says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from atomic.record.facts import Owner, WorkspaceStart
from atomic.verdict.facts import Facts
from atomic.workspace.source import Repository


@dataclass(frozen=True, slots=True)
class Plan:
    """A workspace that can be made. ``top`` is the folder of the user's that it stands for: the top of the repository,
    or the folder that is copied. ``inside`` is where the agent works in it, ``links`` are folders of it that are not
    copied but linked."""

    mode: Literal["worktree", "copy"]
    top: Path
    inside: str = "."
    links: tuple[str, ...] = ()
    repository: Repository | None = None


class WorkspaceNote(Facts):
    """What ``workspace.json`` says of a workspace that is there, for whoever finds it after its owner is dead."""

    run_id: str
    owner: Owner
    made_from: WorkspaceStart
    inside: str = "."  # where the agent works in it
    links: tuple[str, ...] = ()
    tree: str | None = None  # git's name of the files at the start; None: it was not made whole
    hashed_by: str = "sha1"
