"""A real agent in workspaces: side by side, from one model to the next, and killed in the middle."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from atomic.failures import FailureKind as Kind
from atomic.recovery import recover
from tests.e2e.real import RealAgent
from tests.e2e.releases import RELEASES
from tests.projects import git, project, state_of

ITEMS = 8


@pytest.fixture
def user(real: RealAgent) -> Path:
    return project(real.work)


async def test_a_carried_attempt_goes_on_in_the_same_workspace_and_one_patch_holds_both(
    real: RealAgent, user: Path
) -> None:
    before = state_of(user)
    result = await real.ask("do the work", "fake/overflow-after-tool", "other/edit", workspace="worktree")
    assert [(attempt.kind, attempt.carry) for attempt in result.attempts] == [(Kind.OVERFLOW, False), (None, True)]
    assert real.attempt(result, 1).cwd == real.attempt(result, 2).cwd != str(user)
    assert result.changes is not None
    patch = Path(result.record, str(result.changes.patch)).read_text()
    assert "+++ b/worked.txt" in patch
    assert f"+{result.run_id}/2\n" in patch
    assert state_of(user) == before
    assert list((real.store.home / "workspaces").iterdir()) == []


@pytest.mark.parametrize("real", RELEASES[:1], indirect=True, ids=str)
def test_eight_items_edit_the_same_file_side_by_side(real: RealAgent, user: Path, tmp_path: Path) -> None:
    before = state_of(user)
    items = tmp_path / "items.txt"
    items.write_text("".join(f"edit, please, {n}\n" for n in range(ITEMS)))
    more = (
        "-m",
        "fake/edit",
        "-j",
        str(ITEMS),
        "--direct",
        "--workspace",
        "worktree",
        "--json",
        "-o",
        str(tmp_path / "out"),
    )
    process = real.command_line.start("batch", str(items), "--agent", real.command_line.agent, *more)
    out, err = process.communicate()
    assert json.loads(out)["answered"] == ITEMS, err.decode()
    lines = [json.loads(line) for line in (tmp_path / "out" / "results.jsonl").read_text().splitlines()]
    for line in lines:
        assert line["changes"]["insertions"] == 1
        patch = Path(line["record"], line["changes"]["patch"]).read_text()
        assert [added for added in patch.splitlines() if added.startswith("+2")] == [f"+{line['run_id']}/1"]
    assert state_of(user) == before
    assert list((real.store.home / "workspaces").iterdir()) == []
    applied = real.command_line.start("apply", lines[0]["run_id"])
    applied.communicate()
    assert applied.returncode == 0
    assert (user / "notes.txt").read_text() == f"one\ntwo, changed\nthree\n{lines[0]['run_id']}/1\n"


@pytest.mark.parametrize("real", RELEASES[:1], indirect=True, ids=str)
async def test_a_kill_in_the_middle_leaves_no_workspace_and_not_a_byte_changed(real: RealAgent, user: Path) -> None:
    before, refs = state_of(user), git(user, "for-each-ref")
    process = real.command_line.run("edit", "fake/editsleep", more=("--workspace", "worktree"))
    workspaces = real.store.home / "workspaces"
    while not any("half" in path.read_text() for path in workspaces.glob("*/tree/notes.txt")):
        assert process.poll() is None
        await asyncio.sleep(0.05)
    process.kill()
    process.communicate()
    assert len(list(workspaces.iterdir())) == 1
    found = await recover(real.store)
    assert [one.run.kind for one in found.runs] == [Kind.INTERRUPTED]
    assert list(workspaces.iterdir()) == []
    (run,) = real.store.iter_runs()
    assert run.changes is not None
    assert "+half" in (real.store.open(run.run_id).path / str(run.changes.patch)).read_text()
    assert (state_of(user), git(user, "for-each-ref")) == (before, refs)
