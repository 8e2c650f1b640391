from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.flows.conftest import CommandLine


@pytest.fixture
def trap(cli: CommandLine, tmp_path: Path) -> Path:
    """A project whose settings would run a program that leaves a mark."""
    mark = tmp_path / "mark"
    program = cli.project / "evil.sh"
    program.write_text(f"#!/bin/sh\ntouch '{mark}'\n")
    program.chmod(0o755)
    (cli.project / "atomic-flows.toml").write_text(
        f'[agent]\ncommand = ["{program}"]\nenv = {{ A = "\\u001b]0;x\\u0007[bold]" }}\n'
    )
    return mark


def test_a_hostile_project_runs_nothing(cli: CommandLine, trap: Path) -> None:
    for command in (
        ("run", "--direct", "x"),
        ("run", "--direct", "--agent", "scripted", "-m", "scripted/ok", "x"),
        ("status",),
        ("policy", "check"),
        ("explain", "latest"),
        ("record", "cat", "latest"),
        ("stop", "--all"),
    ):
        done = cli(*command)
        assert (done.code, done.out) == (2, ""), command
        assert "agent.command, agent.env can run programs or send data" in done.err
        assert "atomic-flows trust" in done.err
    assert not trap.exists()
    assert cli.records() == []


def test_a_file_of_ones_own_goes_past_it(cli: CommandLine, trap: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text("")
    assert cli.scripted("-m", "scripted/ok", "--config", str(own), "x").code == 0
    assert not trap.exists()


def test_trust_shows_and_asks_and_then_it_counts(cli: CommandLine, trap: Path) -> None:
    done = cli("trust")
    assert (done.code, done.out) == (2, "")
    assert "stdin is no terminal" in done.err
    assert "agent.command" in done.err
    assert "line 2" in done.err
    assert "evil.sh" in done.err
    assert "\x1b" not in done.err
    assert cli("run", "--direct", "x").code == 2

    assert cli("trust", "--yes").code == 0
    assert "already trusted" in cli("trust").err
    done = cli("run", "--direct", "--json", "x")
    assert trap.exists()
    assert json.loads(done.out)["status"] == "failed"

    with (cli.project / "atomic-flows.toml").open("a") as file:
        file.write("args = ['--more']\n")
    assert cli("run", "--direct", "x").code == 2


def test_a_file_without_claims_needs_no_trust(cli: CommandLine) -> None:
    assert "no atomic-flows.toml here or above" in cli("trust").err
    (cli.project / "atomic-flows.toml").write_text('[policy.default]\nmodels = ["scripted/ok"]\n')
    assert "needs no trust" in cli("trust").err
    assert cli.scripted("x").code == 0


def test_a_broken_file_cannot_be_trusted(cli: CommandLine) -> None:
    (cli.project / "atomic-flows.toml").write_text("[agent]\ncomand = ['x']\n")
    done = cli("trust", "--yes")
    assert done.code == 2
    assert "did you mean agent.command?" in done.err
