"""Files that are something else: pipes hold nobody, what is nested without an end breaks nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from atomic.agent import Agent
from atomic.agent_package import find_package
from atomic.errors import SettingsError
from atomic.models.agent_folder import read_agent_models
from atomic.project_trust import skipped_files
from atomic.providers import Credentials
from atomic.session.overlay import check_overlay
from atomic.verdict.read import STDERR_END, ends_of
from flows.doctor.examine import default_model

NAMES = ("settings.json", "auth.json", "trust.json", "models.json", "package.json")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def depth(path: Path) -> None:
    path.write_text("[" * 200_000)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("put", [pipe, depth, endless])
def test_files_of_the_agent_that_are_something_else_hold_nobody(tmp_path: Path, put: Callable[[Path], None]) -> None:
    for name in NAMES:
        put(tmp_path / name)
    (tmp_path / "run.js").touch()
    agent = Agent(command=(str(tmp_path / "run.js"),), env={"ATOMIC_CODING_AGENT_DIR": str(tmp_path)})
    assert default_model(agent) is None
    assert read_agent_models(tmp_path) == {}
    assert find_package(agent.command) is None
    assert Credentials.of(agent) is not None
    assert skipped_files(agent, tmp_path) is not None
    laid = Agent(command=agent.command, env=agent.env, settings={"theme": "dark"})
    with pytest.raises(SettingsError, match=r"settings\.json"):
        check_overlay(laid)


def test_settings_that_cannot_be_laid_over_are_refused_before_a_session(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"a":' * 900 + "1" + "}" * 900)
    above: dict[str, object] = {"x": 1}
    for _ in range(900):
        above = {"a": above}
    with pytest.raises(SettingsError, match="nested too deeply"):
        check_overlay(Agent(command=("x",), env={"ATOMIC_CODING_AGENT_DIR": str(tmp_path)}, settings=above))


def test_of_a_long_stderr_both_ends_are_read(tmp_path: Path) -> None:
    file = tmp_path / "stderr.txt"
    file.write_bytes(b"first")
    with file.open("r+b") as long:
        long.truncate(1 << 40)
        long.seek(0, os.SEEK_END)
        long.write(b"last")
    said = ends_of(file)
    assert said.startswith("first")
    assert said.endswith("last")
    assert len(said) <= 2 * STDERR_END + 1
