"""Recovery after kills at every step, its own included, and with damaged files."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from atomic.errors import RunNotFound
from atomic.failures import FailureKind
from atomic.record import RunRecord, RunStore
from atomic.record.layout import RUN_FILE
from atomic.record.owner import this_process
from atomic.recovery import Recovered, claim, recover, runs
from tests.atomic.owners import HEAD, TAIL, Scene


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path)
    yield scene
    scene.end()


class Killed(BaseException):
    """Stands for the end of the process at this point."""


@pytest.mark.parametrize("mode", ["answer", "tool"])
async def test_a_recovery_that_is_killed_is_made_good_by_the_next(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    killed = scene.killed(mode)
    stages = 0
    for stage in ("end_processes", "follow", "read_verdict", "_concluded"):
        with monkeypatch.context() as patch:
            patch.setattr(runs, stage, dying)
            try:
                await recover(scene.store, adopt="follow" if stage == "follow" else "stop")
            except Killed:
                stages += 1
        assert [entry.run_id for entry in scene.store.live.entries()] == [killed.run_id]
    assert stages == 4
    await recover(scene.store)
    assert killed.run.status == ("answered" if mode == "answer" else "failed")
    assert killed.stream == (HEAD + TAIL if mode == "answer" else HEAD)


def dying(*args: Any, **kwargs: Any) -> None:
    raise Killed


async def test_runs_left_half_made_go_away(scene: Scene) -> None:
    folder = scene.store.create(b"p", key="k")
    other = scene.store.create(b"p")
    gone = scene.store.create(b"p")
    dead = this_process().model_copy(update={"process_started": 1.0})
    for one in (folder, other, gone):
        scene.store.live.enter(one.run_id, one.path, dead, scene.store.root)
    note = scene.store.keys._note("k")
    assert note is not None
    scene.store.keys._write(note.model_copy(update={"owner": dead, "run_id": None}))  # a key is bound to a record
    (folder.path / RUN_FILE).unlink()  # killed before it was written
    for path in gone.path.iterdir():
        path.unlink()
    gone.path.rmdir()  # killed before the folder was made
    other.write(other.read().model_copy(update={"owner": dead}))  # killed before its first attempt
    found = await recover(scene.store)
    assert found.failures == ()
    assert not folder.path.exists()
    assert [one.run.run_id for one in found.runs] == [other.run_id]
    assert "before its first attempt" in other.read().message
    assert list(scene.store.live.entries()) == []
    assert (await claim(scene.store, "k")).orphan is None
    with pytest.raises(RunNotFound):
        scene.store.open(gone.run_id)


@pytest.mark.parametrize("content", [b"", b"\0" * 64, b'{"run_id"'])
@pytest.mark.parametrize("name", ["run.json", "attempt-1/attempt.json", "live"])
async def test_damaged_files_do_not_hide_an_answer(scene: Scene, name: str, content: bytes) -> None:
    killed = scene.killed("answer")
    path = scene.store.live.folder / f"{killed.run_id}.json" if name == "live" else killed.folder.path / name
    path.write_bytes(content)
    found = await recover(scene.store)
    assert found.failures == ()
    assert (killed.run.status, killed.run.answer) == ("answered", "forty-two")
    assert (await claim(scene.store, "k")).answered == killed.run
    if name == "run.json":
        assert (killed.folder.path / "run.json.damaged").read_bytes() == content


async def test_half_written_files_of_the_killed_go_away(scene: Scene) -> None:
    killed = scene.killed("answer")
    half = [killed.folder.path / ".run.json.1-2.tmp", killed.folder.path / "attempt-1" / ".stream.jsonl.zst.1-2.tmp"]
    for path in half:
        path.write_bytes(b"half")
    await recover(scene.store)
    assert not any(path.exists() for path in half)


async def test_a_run_that_had_ended_is_only_put_away(scene: Scene) -> None:
    killed = scene.killed("answer")
    await recover(scene.store)
    owner = killed.run.owner
    assert owner is not None
    before = killed.run
    scene.store.live.enter(killed.run_id, killed.folder.path, owner, scene.store.root)
    assert await recover(scene.store) == Recovered()
    assert killed.run == before
    assert list(scene.store.live.entries()) == []


async def test_what_cannot_be_recovered_is_told_and_hides_nothing_else(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = scene.killed("answer"), scene.killed("answer")
    real = type(bad.folder).finish

    def full(folder: Any, record: RunRecord) -> None:
        if folder.run_id == bad.run_id:
            raise OSError(28, "No space left on device")
        real(folder, record)

    with monkeypatch.context() as patch:
        patch.setattr(type(bad.folder), "finish", full)
        found = await recover(scene.store)
    assert len(found.failures) == 1
    assert bad.run_id in found.failures[0]
    assert "No space left" in found.sentence()
    assert good.run.status == "answered"
    assert not bad.run.ended
    await recover(scene.store)
    assert bad.run.status == "answered"


async def test_a_cancel_ends_the_agent_first(scene: Scene) -> None:
    killed = scene.killed("tool")
    recovery = asyncio.create_task(recover(scene.store))
    while not list(scene.store.live.folder.glob("*.lock")):
        await asyncio.sleep(0)
    recovery.cancel()
    with pytest.raises(asyncio.CancelledError):
        await recovery
    await recover(scene.store)
    assert scene.living(killed.run_id) == []
    assert killed.run.kind is FailureKind.INTERRUPTED


async def test_the_place_of_records_may_change_before_the_recovery(scene: Scene) -> None:
    killed = scene.killed("answer")
    elsewhere = RunStore(scene.root / "new", home=scene.root / "home")
    found = await recover(elsewhere)
    assert [one.run.run_id for one in found.runs] == [killed.run_id]
    assert killed.run.status == "answered"
