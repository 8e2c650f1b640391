"""Runs in workspaces: what each attempt finds, the patches on record, and that the workspace goes."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from atomic.agent import Agent
from atomic.errors import WorkspaceError
from atomic.failures import FailureKind
from atomic.policy import FallbackPolicy
from atomic.project_trust import decided_as_in
from atomic.record import AttemptRecord, RunStore
from atomic.recovery import recover
from atomic.runner import RunResult, execute, prepare
from atomic.session import AttemptSpec, Progress
from atomic.settings import Settings
from atomic.text import Masker
from atomic.verdict.facts import Status, Usage, Verdict
from tests.projects import project, state_of, write

ANSWERED = Verdict(status=Status.ANSWERED, answer="yes", complete=True)
OVERFLOW = Verdict(status=Status.FAILED, kind=FailureKind.OVERFLOW, message="too long", tool_calls=1)
REFUSED = Verdict(status=Status.FAILED, kind=FailureKind.MODEL_UNAVAILABLE, message="no such model")
Edit = Callable[[Path], Verdict]


class Edits:
    """Attempts that edit what they find, one after the other."""

    def __init__(self, *edits: Edit) -> None:
        self.edits = edits
        self.folders: list[Path] = []

    async def __call__(
        self, spec: AttemptSpec, *, on_progress: Callable[[Progress], None] | None = None
    ) -> AttemptRecord:
        spec.folder.create(spec.prompt)
        self.folders.append(spec.cwd)
        record = AttemptRecord(
            run_id=spec.run_id,
            n=spec.n,
            model=str(spec.model),
            carry=spec.carry_from is not None,
            record=spec.folder.path.name,
            cwd=str(spec.cwd),
        )
        spec.folder.write(record)
        spec.folder.session.write_text("{}\n")
        record = record.concluded(self.edits[spec.n - 1](spec.cwd), ended_at=1.0, session_file="session/session.jsonl")
        spec.folder.write(record)
        return record


def adding(line: str, verdict: Verdict = ANSWERED) -> Edit:
    def edit(folder: Path) -> Verdict:
        with (folder / "notes.txt").open("a") as file:
            file.write(f"{line}\n")
        return verdict

    return edit


@pytest.fixture
def user(tmp_path: Path) -> Path:
    return project(tmp_path / "user")


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    home = tmp_path / "home"
    home.mkdir()
    return RunStore(home / "records", home=home, fsync=False)


async def carried_out(user: Path, store: RunStore, edits: Edits) -> RunResult:
    policy = FallbackPolicy(models=["a/one", "b/two"])
    settings = Settings(home=store.home)
    request = prepare("go", policy=policy, agent="scripted", cwd=user, workspace="worktree", settings=settings)
    return await execute(request, store=store, run_attempt=edits)


def left(store: RunStore) -> list[Path]:
    folder = store.home / "workspaces"
    return list(folder.iterdir()) if folder.exists() else []


async def test_a_carried_attempt_goes_on_and_one_patch_holds_both(user: Path, store: RunStore) -> None:
    before = state_of(user)
    edits = Edits(adding("of the first", OVERFLOW), adding("of the second"))
    result = await carried_out(user, store, edits)
    assert result.answered
    assert edits.folders[0] == edits.folders[1] != user
    assert result.changes is not None
    assert (result.changes.files, result.changes.insertions) == (1, 2)
    patch = Path(result.record, str(result.changes.patch)).read_text()
    assert "+of the first\n+of the second\n" in patch
    assert "+of the first" in Path(result.record, "attempt-1", "changes.patch").read_text()
    assert state_of(user) == before
    assert left(store) == []
    assert result.to_json()["changes"]["patch"] == "attempt-2/changes.patch"
    run = store.read(result.run_id)
    assert run.changes == result.changes
    assert run.workspace is not None
    assert run.workspace.top == str(user)
    assert run.cwd == str(user)


async def test_a_fresh_attempt_does_not_find_what_the_one_before_had_half_done(user: Path, store: RunStore) -> None:
    result = await carried_out(user, store, Edits(adding("half", REFUSED), adding("whole")))
    assert result.changes is not None
    patch = Path(result.record, str(result.changes.patch)).read_text()
    assert "+whole" in patch
    assert "half" not in patch
    assert "+half" in Path(result.record, "attempt-1", "changes.patch").read_text()


async def test_a_run_that_changes_nothing_says_so(user: Path, store: RunStore) -> None:
    result = await carried_out(user, store, Edits(lambda _: ANSWERED))
    assert result.changes is not None
    assert (result.changes.files, result.changes.patch) == (0, None)
    assert left(store) == []


async def test_a_cancelled_run_keeps_its_patch_and_leaves_no_workspace(user: Path, store: RunStore) -> None:
    begun = asyncio.Event()

    class Hanging(Edits):
        async def __call__(
            self, spec: AttemptSpec, *, on_progress: Callable[[Progress], None] | None = None
        ) -> AttemptRecord:
            await super().__call__(spec)
            begun.set()
            await asyncio.Event().wait()
            raise AssertionError

    cancelled = Verdict(status=Status.FAILED, kind=FailureKind.CANCELLED, usage=Usage())
    task = asyncio.create_task(carried_out(user, store, Hanging(adding("so far", cancelled))))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (run,) = store.iter_runs()
    assert run.changes is not None
    assert run.changes.insertions == 1
    assert left(store) == []


async def test_what_cannot_be_kept_stays_until_a_later_start_keeps_it(
    user: Path, store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("atomic.workspace.state.create_file", full)
        result = await carried_out(user, store, Edits(adding("precious")))
    assert result.answered
    assert result.changes is None
    assert any("could not be kept" in warning for warning in result.warnings)
    assert len(left(store)) == 1
    assert (await recover(store)).workspaces == 0  # its owner lives
    with monkeypatch.context() as patched:
        patched.setattr("atomic.record.owner.boot_id", lambda: "another boot")
        found = await recover(store)
    assert found.workspaces == 1
    assert left(store) == []
    run = store.read(result.run_id)
    assert run.changes is not None
    assert "+precious" in (store.open(run.run_id).path / str(run.changes.patch)).read_text()


async def test_nothing_is_spent_where_no_workspace_can_be_made(tmp_path: Path, store: RunStore) -> None:
    folder = tmp_path / "plain"
    write(folder, {"a.txt": "a"})
    with pytest.raises(WorkspaceError, match="git repository"):
        await carried_out(folder, store, Edits())
    assert list(store.iter_runs()) == []


async def test_a_redacted_record_has_no_secrets_in_its_patches(
    user: Path, store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_API_KEY", "sk-very-secret-4711")
    store.redact = Masker.of(os.environ)
    result = await carried_out(user, store, Edits(adding("key = sk-very-secret-4711")))
    assert result.changes is not None
    patch = Path(result.record, str(result.changes.patch))
    assert "sk-very-secret-4711" not in patch.read_text()
    assert result.changes.bytes == patch.stat().st_size


def test_an_agent_trusts_a_project_in_a_workspace_as_it_does_in_the_users_folder(user: Path, tmp_path: Path) -> None:
    script = tmp_path / "node_modules" / "@earendil-works" / "pi-coding-agent" / "cli.js"
    write(
        script.parent, {"cli.js": "", "package.json": '{"name": "@earendil-works/pi-coding-agent", "version": "1.6.0"}'}
    )
    folder = tmp_path / "agent"
    write(folder, {"trust.json": json.dumps({str(user): True})})
    agent = Agent(command=("node", str(script)), env={"PI_CODING_AGENT_DIR": str(folder)})
    assert decided_as_in(user, agent).approve is True
    assert decided_as_in(tmp_path, agent).approve is None


@pytest.mark.parametrize("put_there", ["nothing", "a link", "a file"])
async def test_an_agent_that_removes_the_folder_it_works_in_has_removed_its_files(
    user: Path, store: RunStore, put_there: str
) -> None:
    def remove(folder: Path) -> Verdict:
        shutil.rmtree(folder)
        if put_there == "a link":
            folder.symlink_to(user)
        elif put_there == "a file":
            folder.write_text("x")
        return OVERFLOW

    before = state_of(user)
    result = await carried_out(user, store, Edits(remove, adding("of the second")))
    assert result.answered
    assert result.warnings == ()
    assert "-" in Path(result.record, "attempt-1", "changes.patch").read_text()
    assert "+of the second" in Path(result.record, "attempt-2", "changes.patch").read_text()
    assert state_of(user) == before
    assert left(store) == []
