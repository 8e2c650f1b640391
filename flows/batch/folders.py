"""In which folders the items of a batch work, and whether they can do so at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from atomic.errors import FolderBusy
from atomic.record.occupants import tree_of

_HINT = (
    "Run them one after another (-j 1, concurrency = 1); let them share it where they only read (--shared, shared = "
    'true); or give each a folder of its own (--workspace worktree, workspace = "worktree").'
)


def whole_folders(folders: Mapping[Path | None, int], base: Path) -> Counter[Path]:
    """How many items work in each folder; those that name none in ``base``."""
    found: Counter[Path] = Counter()
    for folder, items in folders.items():
        found[folder or base] += items
    return found


def require_apart(folders: Mapping[Path, int], at_once: int) -> None:
    """Refuse a batch whose items would be at work in one folder, or one git repository, at the same time. Raises
    FolderBusy."""
    trees: Counter[Path] = Counter()
    for folder, items in folders.items():
        trees[tree_of(folder)] += items
    tree, items = max(trees.items(), key=lambda found: found[1])
    sessions = min(at_once, items)
    if sessions > 1:
        raise FolderBusy(
            f"{items} items would be run in {tree}, {sessions} at a time, and get in each other's way",
            hint=_HINT,
            path=str(tree),
            what=f"{items} items",
        )
