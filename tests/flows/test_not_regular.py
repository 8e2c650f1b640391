"""What an agent or a stranger puts in the place of a file: pipes that never end, devices without an end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.flows.conftest import CommandLine

COMMANDS = (
    ("status",),
    ("stop", "--all"),
    ("history", "list"),
    ("history", "show", "latest"),
    ("explain", "latest"),
    ("record", "cat", "latest"),
    ("run", "--direct", "--agent", "scripted", "-m", "scripted/ok", "hi"),
)


@pytest.mark.parametrize(
    "name", ["run.json", "attempt-1/attempt.json", "attempt-1/stream.jsonl", "attempt-1/stderr.txt"]
)
def test_a_pipe_in_the_place_of_a_record_s_file_holds_no_command(cli: CommandLine, name: str) -> None:
    assert cli.scripted("-m", "scripted/ok", "hi").code == 0
    (folder,) = cli.records()
    (folder / name).unlink(missing_ok=True)
    (folder / "attempt-1" / "stream.jsonl.zst").unlink()
    os.mkfifo(folder / name)
    for command in COMMANDS:
        done = cli(*command)
        assert done.code in (0, 1, 2)
        assert "Traceback" not in done.err
        assert "unexpected" not in done.err


def test_an_agent_that_puts_a_pipe_in_the_place_of_its_stream_does_not_hold_the_run(
    cli: CommandLine, tmp_path: Path
) -> None:
    agent = tmp_path / "agent"
    agent.write_text('#!/bin/sh\nf=$(readlink /proc/self/fd/1)\nrm "$f"\nmkfifo "$f"\necho hello\n')
    agent.chmod(0o755)
    done = cli("run", "--direct", "--agent", str(agent), "-m", "a/b", "hi")
    assert done.code in (1, 2)
    assert "unexpected" not in done.err
    assert cli("status").code == 0


@pytest.mark.parametrize("target", ["/dev/zero", "pipe"])
def test_settings_that_never_end_are_refused(cli: CommandLine, target: str) -> None:
    file = cli.project / "atomic-flows.toml"
    if target == "pipe":
        os.mkfifo(file)
    else:
        file.symlink_to(target)
    done = cli("policy", "show")
    assert done.code == 2
    assert "not a regular file" in done.err
