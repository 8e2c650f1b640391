"""The state of a tree of files, kept in a repository of our own: as it was at the start, and what has changed since.

Bytes are kept as they lie on the disk: no line endings are converted, no filters run, whatever attributes the project
or the agent sets, so that a patch fits the user's files and nobody's program is run. The agent may reach this
repository, as it reaches all that its user owns: its settings are therefore written anew before each use.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from atomic.record.facts import Changes
from atomic.record.files import create_file, temporary
from atomic.workspace.copying import look
from atomic.workspace.git import Git, GitFailed, joined
from atomic.workspace.removing import opened, permit

PATCH_LIMIT = 256 << 20  # bytes of a patch: more is no work on sources, and fills the disk of the records
PATCH_FILE = "changes.patch"

_ATTRIBUTES = "* -text !eol !filter !ident !working-tree-encoding !diff !merge\n"
_SETTINGS = """[core]
\trepositoryformatversion = {version}
\tbare = false
\tfileMode = true
\tsymlinks = true
\tautocrlf = false
\tlooseCompression = 1
[gc]
\tauto = 0
"""
_DIFF = ("diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")
_PATCH = (*_DIFF, "-p", "--binary", "--full-index", "--src-prefix=a/", "--dst-prefix=b/")


@dataclass(frozen=True, slots=True)
class State:
    """The states of the files in ``tree``, kept in ``folder``."""

    folder: Path
    tree: Path
    hashed_by: str = "sha1"

    def lay(self, *, alternates: bytes = b"", exclude: bytes = b"") -> Git:
        """Make the repository. ``alternates`` says where objects may be already, ``exclude`` which new files are
        nobody's change. Raises OSError."""
        for name in ("objects/info", "objects/pack", "refs/heads", "info"):
            (self.folder / name).mkdir(0o700, parents=True)
        (self.folder / "HEAD").write_text("ref: refs/heads/start\n")
        (self.folder / "objects" / "info" / "alternates").write_bytes(alternates)
        (self.folder / "info" / "exclude").write_bytes(exclude)
        (self.folder / "info" / "attributes").write_text(_ATTRIBUTES)
        return self._git()

    def begin(self, files: Iterable[bytes], *, alternates: bytes, exclude: bytes) -> str:
        """Make the repository, keep these files as the start, and return its tree. Blocks. Raises OSError,
        GitFailed."""
        git = self.lay(alternates=alternates, exclude=exclude)
        git.run("update-index", "-z", "--add", "--stdin", given=joined(files))
        return os.fsdecode(git.run("write-tree")).strip()

    def restore(self) -> None:
        """Put the files of the start into the tree, which is there and empty. Blocks. Raises OSError, GitFailed."""
        self._git().run("checkout-index", "--all", "--index")

    def changes(self, start: str, target: Path, *, durable: bool) -> Changes:
        """Write what has changed since the start to ``target``, by rename, and tell how much it is; nothing is written
        where nothing has changed. Blocks. Raises OSError, GitFailed."""
        end = self._end()
        insertions = deletions = files = 0
        for entry in self._git().run(*_DIFF, "--numstat", "-z", start, end).split(b"\0"):
            if entry:
                added, removed, _ = entry.split(b"\t", 2)
                files += 1
                insertions += int(added) if added != b"-" else 0  # a binary file has no lines
                deletions += int(removed) if removed != b"-" else 0
        changes = Changes(files=files, insertions=insertions, deletions=deletions)
        if not files:
            return changes
        size = self._write(start, end, target, durable=durable)
        return changes if size is None else changes.model_copy(update={"bytes": size, "patch": target.name})

    def _write(self, start: str, end: str, target: Path, *, durable: bool) -> int | None:
        unfinished = temporary(target)
        try:
            with open(create_file(unfinished), "wb") as file:  # noqa: PTH123 - a descriptor
                size = self._git().pour(*_PATCH, start, end, to=file, most=PATCH_LIMIT)
                if durable and size is not None:
                    file.flush()
                    os.fsync(file.fileno())
            if size is not None:
                unfinished.replace(target)
            return size
        finally:
            unfinished.unlink(missing_ok=True)

    def _end(self) -> str:
        """The tree of the files as they are now: those of the start as far as they are there, and new ones that are
        not excluded, also within repositories that the agent made."""
        _let_in(self.tree)
        index = self.folder / "index.now"
        shutil.copyfile(self.folder / "index", index)
        git = replace(self._git(), index=index)
        changed = _paths(git.run("ls-files", "-z", "--modified", "--deleted"))
        new = _paths(git.run("ls-files", "-z", "--others", "--exclude-standard"))
        found = [path for path in new if not path.endswith(b"/")]
        found += self._within(git, [path for path in new if path.endswith(b"/")])
        there, gone = self._sorted({*changed, *found})
        git.run("update-index", "-z", "--force-remove", "--stdin", given=joined(gone))
        git.run("update-index", "-z", "--add", "--replace", "--stdin", given=joined(there))
        return os.fsdecode(git.run("write-tree")).strip()

    def _within(self, git: Git, folders: Sequence[bytes]) -> list[bytes]:
        """The files in repositories that were made in the tree: git itself would note no more than their commits."""
        root = os.fsencode(self.tree)
        found: list[bytes] = []
        for folder in folders:
            for parent, names, files in os.walk(root + b"/" + folder):
                inside = os.path.relpath(parent, root)
                links = [name for name in names if os.path.islink(parent + b"/" + name)]  # noqa: PTH114 - bytes
                names[:] = [name for name in names if name != b".git"]
                found += [inside + b"/" + name for name in (*files, *links) if name != b".git"]
        ignored = set(_paths(_ignored(git, found))) if found else set()
        return [path for path in found if path not in ignored]

    def _sorted(self, paths: Iterable[bytes]) -> tuple[list[bytes], list[bytes]]:
        """The paths at which a file or a link is, and those at which none is any more."""
        there: list[bytes] = []
        gone: list[bytes] = []
        root, known = os.fsencode(self.tree), {b"": True}
        for path in sorted(paths):
            found = look(root, path, known)
            if found is None:
                gone.append(path)
                continue
            if stat.S_ISREG(found.st_mode) and not found.st_mode & stat.S_IRUSR:
                permit(root + b"/" + path, stat.S_IMODE(found.st_mode) | stat.S_IRUSR)
            there.append(path)
        return there, gone

    def _git(self) -> Git:
        """Our repository, with no settings but ours."""
        with opened(self.folder):  # a folder itself, not a link
            settings = _SETTINGS.format(version=0 if self.hashed_by == "sha1" else 1)
            if self.hashed_by != "sha1":
                settings += f"[extensions]\n\tobjectFormat = {self.hashed_by}\n"
            config = self.folder / "config"
            config.unlink(missing_ok=True)  # whatever stands there, a link may be
            config.write_text(settings)
        return Git(self.tree, self.folder, self.tree, self.folder / "index", alone=True)


def _ignored(git: Git, paths: Iterable[bytes]) -> bytes:
    try:
        return git.run("check-ignore", "-z", "--stdin", "--no-index", given=joined(paths))
    except GitFailed as error:
        if error.code != 1:  # which says that none is
            raise
        return b""


def _paths(listed: bytes) -> list[bytes]:
    return [path for path in listed.split(b"\0") if path]


def _let_in(folder: Path) -> None:
    """Make every folder of a tree one that its owner may look into: the agent may have shut one."""
    for parent, names, _ in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)  # noqa: PTH118 - hundreds of thousands of them
            found = os.lstat(path)
            if stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_IRWXU != stat.S_IRWXU:
                permit(path, stat.S_IMODE(found.st_mode) | stat.S_IRWXU)
