"""The repository that the agent sees: the user's history in a repository of its own.

Not a linked worktree: that is entered into the user's ``.git``, and shares branches, stashes and settings with the
agent, whose ``git stash`` or ``git branch -D`` would be done to the user's. Here objects alone are shared, to be read
(``objects/info/alternates``); what the agent commits, stashes or deletes is its own. The user's hooks do not come
along, nor what runs by itself; remotes, branches, tags, the index and what is excluded do.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from atomic.workspace.git import Git, GitFailed
from atomic.workspace.source import Repository, refs

_LEFT_OUT = frozenset(
    {
        *("core.hookspath", "core.fsmonitor", "core.gitproxy"),
        *("core.worktree", "core.bare", "extensions.worktreeconfig", "extensions.refstorage"),
    }
)
_LEFT_OUT_SECTIONS = ("include.", "includeif.", "gc.", "maintenance.", "alias.", "worktree.")
_OWN = """[core]
\tbare = false
\thooksPath = /dev/null
\tfsmonitor = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
"""


def make_repository(source: Repository, folder: Path, links: Iterable[str]) -> None:
    """Make a repository in ``folder``, which is not there, as ``source`` is now. ``links`` are folders of it that are
    linked: nobody's change. Blocks. Raises OSError, GitFailed."""
    git = Git(source.top)
    for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info"):
        (folder / name).mkdir(0o700, parents=True)
    (folder / "HEAD").write_bytes(_head(git))
    (folder / "config").write_bytes(_config(git, source.top))
    lines = b"".join(os.fsencode(f"{oid} {name}\n") for oid, name in refs(source))
    (folder / "packed-refs").write_bytes(lines)
    (folder / "objects" / "info" / "alternates").write_bytes(alternates(source))
    _take(source.common / "shallow", folder / "shallow")
    _take(source.git_dir / "info" / "sparse-checkout", folder / "info" / "sparse-checkout")
    _take(source.common / "info" / "attributes", folder / "info" / "attributes")
    (folder / "info" / "exclude").write_bytes(_excluded(source, links))
    for path in (source.git_dir / "index", *source.git_dir.glob("sharedindex.*")):
        _take(path, folder / path.name)


def alternates(source: Repository) -> bytes:
    """What says where the objects of a repository are."""
    path = os.fsencode(source.common / "objects")
    if b"\n" in path or path.startswith(b'"'):
        path = b'"' + path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'
    return path + b"\n"


def excluded(top: Path, source: Repository | None, links: Iterable[str]) -> bytes:
    """What says which new files are nobody's change, beside the project's ``.gitignore`` files: the user's own
    lists, and the links."""
    own = b""
    try:
        own = _read(Path(Git(top).line("config", "--path", "--get", "core.excludesFile")))
    except GitFailed:  # it is not set
        base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111 - does not raise
        own = _read(Path(base) / "git" / "ignore")
    return own.rstrip(b"\n") + b"\n" + _excluded(source, links)


def _excluded(source: Repository | None, links: Iterable[str]) -> bytes:
    kept = b"" if source is None else _read(source.common / "info" / "exclude")
    return kept.rstrip(b"\n") + b"\n" + os.fsencode("".join(f"/{link}\n" for link in links))


def _head(git: Git) -> bytes:
    try:
        return os.fsencode(f"ref: {git.line('symbolic-ref', '--quiet', 'HEAD')}\n")
    except GitFailed:
        return os.fsencode(git.line("rev-parse", "--verify", "HEAD") + "\n")


def _config(git: Git, top: Path) -> bytes:
    """The repository's own settings, and those of the working tree, without what names its place or runs something."""
    lines = []
    listed = git.run("config", "--list", "-z", "--show-scope").split(b"\0")
    for scope, entry in zip(listed[::2], listed[1::2], strict=False):
        key, has_value, value = os.fsdecode(entry).partition("\n")
        if scope not in (b"local", b"worktree") or key in _LEFT_OUT or key.startswith(_LEFT_OUT_SECTIONS):
            continue
        section, _, name = key.rpartition(".")
        section, _, part = section.partition(".")
        if section == "remote" and name in {"url", "pushurl"}:
            value = _whole(value, top)
        head = f'[{section} "{_escaped(part)}"]' if part else f"[{section}]"
        lines.append(f'{head}\n\t{name} = "{_escaped(value)}"\n' if has_value else f"{head}\n\t{name}\n")
    return os.fsencode("".join(lines) + _OWN)


def _whole(url: str, top: Path) -> str:
    """A remote's address, which may be a path from the repository's top."""
    return os.path.normpath(top / url) if url.startswith(("./", "../")) else url


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t").replace("\b", "\\b")


def _take(source: Path, target: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        shutil.copyfile(source, target)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
