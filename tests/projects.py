"""Git repositories for tests, as users have them, and what of them must never change."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
from pathlib import Path

_ENV = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "U"), ("EMAIL", "u@u"))
    },
    "GIT_ALLOW_PROTOCOL": "file",
}


def git(folder: Path, *command: str) -> str:
    """What a git command prints in a folder."""
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *command],
        cwd=folder,
        env={**os.environ, **_ENV},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def project(folder: Path) -> Path:
    """A repository with a commit, a branch, a stash, a hook, changes that are not committed, an untracked file and an
    ignored one."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    write(
        folder, {".gitignore": "*.log\nnode_modules/\n", "notes.txt": "one\ntwo\nthree\n", "src/main.py": "print(1)\n"}
    )
    (folder / "logo.bin").write_bytes(bytes(range(256)) * 9)
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    git(folder, "branch", "other")
    write(folder, {"notes.txt": "stashed\n"})
    git(folder, "stash")
    write(folder, {"notes.txt": "one\ntwo, changed\nthree\n", "draft.txt": "untracked\n", "debug.log": "ignored\n"})
    write(folder, {"staged.txt": "staged\n"})
    git(folder, "add", "staged.txt")
    hook = folder / ".git" / "hooks" / "pre-commit"
    hook.write_text(f"#!/bin/sh\ntouch {folder}.hooked\n")
    hook.chmod(0o755)
    return folder


def write(folder: Path, files: dict[str, str]) -> None:
    """Write text files, with the folders above them."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, newline="")


def state_of(folder: Path) -> dict[str, str]:
    """All that a folder holds, links unfollowed, ``.git`` included: kind, mode and digest by path. Times are left out
    of it: git itself notes on objects that it was asked for them."""
    found = {}
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(parent, name)
            facts = path.lstat()
            if stat.S_ISLNK(facts.st_mode):
                content = str(path.readlink())
            elif stat.S_ISREG(facts.st_mode):
                content = hashlib.sha256(path.read_bytes()).hexdigest()
            else:
                content = ""
            found[str(path.relative_to(folder))] = f"{facts.st_mode:o} {content}"
    return found
