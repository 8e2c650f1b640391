"""One session in a folder at a time, unless they are let share it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from atomic.errors import FolderBusy
from atomic.processes import living_markers
from atomic.record import RunStore
from atomic.record.occupants import tree_of
from atomic.runner import RunStarted, open_store, run
from atomic.settings import Settings

OWNER = """
import sys, time
from pathlib import Path
from atomic.record import RunStore
store = RunStore(sys.argv[1] + "/records", home=Path(sys.argv[1]))
with store.occupants.at_work("run 1", [Path(sys.argv[2])]):
    print("there", flush=True)
    if len(sys.argv) > 3:
        import subprocess
        sys.exit(subprocess.run(sys.argv[3:]).returncode)
    time.sleep(600)
"""


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "home" / "records", home=tmp_path / "home")


def repository(path: Path) -> Path:
    (path / ".git").mkdir(parents=True)
    return path


def owner(store: RunStore, folder: Path, *command: str) -> subprocess.Popen[str]:
    """Another process that is at work in the folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(store.home), str(folder), *command], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "there\n"
    return process


def test_a_folder_is_its_repository_and_its_real_path(tmp_path: Path) -> None:
    top = repository(tmp_path / "top")
    inner = repository(top / "vendor" / "inner")
    (top / "deep" / "er").mkdir(parents=True)
    (tmp_path / "link").symlink_to(top / "deep")
    assert tree_of(top / "deep" / "er") == tree_of(tmp_path / "link") == top
    assert tree_of(inner) == inner
    (tmp_path / "plain").mkdir()
    assert tree_of(tmp_path / "plain") == tmp_path / "plain"


def test_a_second_one_is_refused_in_the_same_tree_only_and_told_who_is_there(store: RunStore, tmp_path: Path) -> None:
    top = repository(tmp_path / "top")
    (top / "sub").mkdir()
    at = store.occupants.at_work
    with at("a run", [top / "sub"]) as named:
        named("run 20261201-143156-7wyflkij")
        with pytest.raises(FolderBusy) as error, at("run 2", [top]):
            pass
        assert error.value.message.startswith(
            f"run 20261201-143156-7wyflkij is at work in {top} (process {os.getpid()}, since "
        )
        assert "--shared" in str(error.value.hint)
        assert (error.value.path, error.value.pid) == (str(top), os.getpid())
        with at("run 3", [tmp_path]), at("run 4", [top], shared=True):
            pass
    with at("run 5", [top]):
        pass


def test_who_shares_is_not_alone_for_those_who_do_not(store: RunStore, tmp_path: Path) -> None:
    with (
        store.occupants.at_work("run 1", [tmp_path], shared=True),
        pytest.raises(FolderBusy, match="run 1 is at work"),
        store.occupants.at_work("run 2", [tmp_path]),
    ):
        pass


def test_another_process_counts_until_it_is_dead(store: RunStore, tmp_path: Path) -> None:
    process = owner(store, tmp_path)
    try:
        with pytest.raises(FolderBusy) as error, store.occupants.at_work("run 2", [tmp_path]):
            pass
        assert error.value.pid == process.pid
    finally:
        process.kill()
        process.communicate()
    with store.occupants.at_work("run 2", [tmp_path]):
        assert len(list(store.occupants.folder.glob("*.json"))) == 1, "the dead one's entry has gone"


def test_an_agent_whose_owner_is_dead_counts_as_long_as_it_lives(store: RunStore, tmp_path: Path) -> None:
    process = owner(store, tmp_path)
    folder = store.create(b"p", cwd=str(tmp_path))
    agent = subprocess.Popen(["sleep", "600"], env={**os.environ, "ATOMIC_FLOWS_ATTEMPT": f"{folder.run_id}/1"})
    try:
        process.kill()
        process.communicate()
        while f"{folder.run_id}/1" not in living_markers():
            time.sleep(0.01)  # it has not become its program yet
        with pytest.raises(FolderBusy, match=f"an agent of run {folder.run_id}"):
            store.occupants.require_free([tmp_path])
    finally:
        agent.kill()
        agent.wait()
    store.occupants.require_free([tmp_path])


def test_what_a_session_itself_starts_may_work_where_it_does(store: RunStore, tmp_path: Path) -> None:
    inner = [sys.executable, "-c", OWNER, str(store.home), str(tmp_path), "true"]
    process = owner(store, tmp_path, *inner)
    assert process.stdout is not None
    said, _ = process.communicate()
    assert (process.returncode, said) == (0, "there\n")


async def test_runs(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    begun = asyncio.Event()
    first = asyncio.ensure_future(
        run(
            "x",
            models=["scripted/sleep-tool"],
            agent="scripted",
            cwd=tmp_path,
            settings=settings,
            on_event=lambda event: begun.set() if isinstance(event, RunStarted) else None,
        )
    )
    await begun.wait()
    given: dict[str, Any] = {"models": ["scripted/ok"], "agent": "scripted", "cwd": tmp_path}
    with pytest.raises(FolderBusy, match=r"run 2.* is at work"):
        await run("y", key="k", settings=settings, **given)
    assert (await run("y", key="k", settings=settings, shared=True, **given)).answered, "its key was free again"
    shared = settings.model_copy(update={"shared": True})
    assert (await run("z", settings=shared, **given)).answered
    first.cancel()
    await asyncio.wait([first])
    assert (await run("z", settings=settings, **given)).answered
    assert len(list(open_store(settings).iter_runs())) == 4
