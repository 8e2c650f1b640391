"""The git program, run so that nobody but git itself is run by it.

Two sorts of repositories are asked. The user's are only read: without locks, hooks, monitors, prompts and fetches. Our
own (one for each run) hold the state of the workspace at its start; their settings are written by us, and neither the
user's nor the agent's settings, attributes or filters reach them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from atomic.errors import WorkspaceError

LEAST = (2, 26)  # the first that says whether a setting is the repository's or the working tree's
PATIENCE = 600.0  # seconds for one command: a large tree on a slow disk takes minutes, a hung file system for ever

_CHUNK = 1 << 16  # bytes

_QUIET = (
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "core.quotePath=false"),
    *("-c", "advice.detachedHead=false"),
)
_OTHER_REPOSITORY = frozenset(
    {
        *("GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_NAMESPACE"),
        *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH"),
    }
)
_ALWAYS = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",  # of a partial clone: what is not there is not fetched
    "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_ADVICE": "0",
}


class GitFailed(Exception):
    """A git command that failed. ``said`` is what its stderr says first, ``lines`` all of it, ``code`` its exit code;
    None: it had none."""

    def __init__(self, command: str, said: str, code: int | None = None, lines: Sequence[str] = ()) -> None:
        super().__init__(f"git {command}: {said}")
        self.said = said
        self.code = code
        self.lines = lines


@dataclass(frozen=True, slots=True)
class Git:
    """One repository. ``alone``: no settings of the user, the machine or the environment hold for it."""

    at: Path  # where commands are run
    git_dir: Path | None = None  # None: the one that git finds from there
    work_tree: Path | None = None
    index: Path | None = None  # None: the repository's own
    alone: bool = False

    def run(self, *command: str, given: bytes = b"") -> bytes:
        """What the command prints. ``given`` is its stdin. Blocks. Raises GitFailed, WorkspaceError where there is no
        git."""
        try:
            done = subprocess.run(
                self._argv(command),
                cwd=self.at,
                env=self._environment(os.environ),
                input=given,
                capture_output=True,
                timeout=PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise GitFailed(_name(command), f"no end after {PATIENCE:g} seconds") from error
        if done.returncode:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit code {done.returncode}"]
            worst = next((line for line in lines if line.startswith(("fatal: ", "error: "))), lines[-1])
            said = worst.removeprefix("fatal: ").removeprefix("error: ")
            raise GitFailed(_name(command), said, done.returncode, lines)
        return done.stdout

    def pour(self, *command: str, to: IO[bytes], most: int) -> int | None:
        """Write what the command prints to a file, and return how many bytes; None, and no more than ``most`` bytes
        written, where it is more. Blocks. Raises GitFailed, OSError."""
        with subprocess.Popen(
            self._argv(command),
            cwd=self.at,
            env=self._environment(os.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            assert process.stdout is not None, "it is a pipe"
            size = 0
            try:
                while chunk := process.stdout.read(_CHUNK):
                    size += len(chunk)
                    if size > most:
                        process.kill()
                        return None
                    to.write(chunk)
            except BaseException:
                process.kill()
                raise
        if process.returncode:
            raise GitFailed(_name(command), f"exit code {process.returncode}", process.returncode)
        return size

    def line(self, *command: str) -> str:
        """The one line that a command prints. Raises as ``run``."""
        return os.fsdecode(self.run(*command)).removesuffix("\n")

    def _argv(self, command: Sequence[str]) -> list[str]:
        where = [] if self.git_dir is None else [f"--git-dir={self.git_dir}"]
        if self.work_tree is not None:
            where.append(f"--work-tree={self.work_tree}")
        return [program(), *_QUIET, *where, *command]

    def _environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        env = {name: value for name, value in environ.items() if not name.startswith("GIT_")} | _ALWAYS
        if self.index is not None:
            env["GIT_INDEX_FILE"] = str(self.index)
        if self.alone:
            assert self.git_dir is not None, "a repository of ours is named"
            # Not GIT_CONFIG_GLOBAL, which is younger: a home without a file is the same.
            env |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_ATTR_NOSYSTEM": "1"}
            env |= dict.fromkeys(("HOME", "XDG_CONFIG_HOME"), str(self.git_dir / "nobody"))
        return env


def _name(command: Sequence[str]) -> str:
    return next(word for before, word in zip(("", *command), command, strict=False) if "-c" not in (before, word))


def environment_within(place: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of who works in a workspace: git finds the repository there and none above it, and not the one
    that a hook, which may have started us, was told of."""
    kept = {name: value for name, value in environ.items() if name not in _OTHER_REPOSITORY}
    return {**kept, "GIT_CEILING_DIRECTORIES": str(place)}


def joined(paths: Iterable[bytes]) -> bytes:
    """Paths as git takes them with -z."""
    return b"".join(path + b"\0" for path in paths)


def program() -> str:
    """The program's path. Raises WorkspaceError."""
    found = shutil.which("git")
    if found is None:
        raise WorkspaceError(
            "a workspace of its own needs git, and there is no git on PATH",
            hint='Install git, or let the agent work in the folder itself: workspace = "shared".',
            reason="no git",
        )
    return found


def require_git() -> None:
    """Raises WorkspaceError where git is missing or too old."""
    said = subprocess.run([program(), "version"], capture_output=True, text=True, check=False, timeout=PATIENCE).stdout
    found = re.search(r"(\d+)\.(\d+)", said)
    if found is None or (int(found[1]), int(found[2])) < LEAST:
        raise WorkspaceError(
            f"a workspace of its own needs git {LEAST[0]}.{LEAST[1]} or later, and this is {said.strip() or 'none'}",
            hint='Install a newer git, or let the agent work in the folder itself: workspace = "shared".',
            reason="old git",
        )
