"""`run --workspace`, what is told of it, and `apply`."""

from __future__ import annotations

import json

from tests.flows.conftest import CommandLine
from tests.projects import project, state_of


def test_a_run_in_a_worktree_from_its_start_to_its_branch(cli: CommandLine) -> None:
    user = project(cli.project)
    before = state_of(user)
    models = ("-m", "scripted/tool-overflow", "-m", "scripted/ok")
    done = cli.scripted("--workspace", "worktree", *models, "work")
    assert done.code == 0
    assert "1 file changed, +1 −0 · atomic-flows apply" in done.err
    assert state_of(user) == before

    shown = cli("history", "show", "latest")
    assert "1 file changed, +1 −0" in shown.out
    assert "attempt-2/changes.patch" in shown.out
    whole = json.loads(cli("history", "show", "latest", "--json").out)
    assert whole["changes"]["patch"] == "attempt-2/changes.patch"
    assert [attempt["changes"]["files"] for attempt in whole["attempts"]] == [1, 1]
    assert whole["workspace"]["top"] == str(user)

    branch = cli("apply", "latest", "--branch", "worked")
    assert branch.code == 0
    assert not (user / "worked.txt").exists()
    applied = cli("apply", "latest")
    assert applied.code == 0
    assert "applied 1 file changed" in applied.err
    assert (user / "worked.txt").read_text() == "worked\n"
    again = cli("apply", "latest")
    assert again.code == 1
    assert "already" in again.err


def test_what_cannot_be_is_refused_before_anything_is_spent(cli: CommandLine) -> None:
    done = cli.scripted("--workspace", "worktree", "-m", "scripted/ok", "hello")
    assert done.code == 2
    assert 'workspace = "copy"' in done.err
    assert cli.records() == []
    assert cli.scripted("-m", "scripted/ok", "hello").code == 0
    done = cli("apply", "latest")
    assert done.code == 2
    assert "it had no workspace" in done.err
