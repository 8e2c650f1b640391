"""Finished runs kept at another place: moved when they end or later, never lost, read as if they were here."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from atomic.errors import PlaceError, RecordError, RunNotFound
from atomic.record import AttemptRecord, RunFolder, RunRecord, RunStore
from atomic.record.layout import run_path

STREAM = b'{"type":"session"}\n{"type":"agent_end"}\n'


@pytest.fixture
def memory() -> Iterator[None]:
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]
    yield
    MemoryFileSystem.store.clear()


@pytest.fixture(params=["memory", "folder"])
def root(request: pytest.FixtureRequest, tmp_path: Path, memory: None) -> str:
    return "memory://bucket/records" if request.param == "memory" else f"file://{tmp_path / 'share'}"


def store_at(root: str, tmp_path: Path) -> RunStore:
    return RunStore(root, home=tmp_path / "home", spool=tmp_path / "spool", fsync=False)


def run_with_attempt(store: RunStore, **fields: Any) -> RunFolder:
    folder = store.create(b"prompt", **fields)
    attempt = folder.attempt(1)
    attempt.create(b"prompt")
    attempt.stream.write_bytes(STREAM)
    attempt.session.write_bytes(b"session")
    attempt.write(AttemptRecord(run_id=folder.run_id, n=1, stream=attempt.finish()))
    return folder


def end(folder: RunFolder) -> RunRecord:
    record = folder.read().model_copy(update={"status": "answered", "answer": "yes"})
    folder.finish(record)
    return record


def test_a_live_run_is_local_and_a_finished_one_is_moved(root: str, tmp_path: Path) -> None:
    store = store_at(root, tmp_path)
    folder = run_with_attempt(store)
    assert folder.path.is_relative_to(tmp_path / "spool")
    fs, base = fsspec.core.url_to_fs(root)
    assert not fs.exists(f"{base}/{run_path(folder.run_id)}")
    record = end(folder)
    assert not folder.path.exists()
    assert [path for path in (tmp_path / "spool").rglob("*") if path.is_file()] == []
    assert fs.exists(f"{base}/{run_path(folder.run_id)}/attempt-1/stream.jsonl.zst")
    assert store.read(folder.run_id) == record
    again = store.find("latest")
    assert again.run_id == folder.run_id
    assert again.prompt == b"prompt"
    assert b"".join(again.attempt(1).lines()) == STREAM
    assert again.attempt(1).session.read_bytes() == b"session"
    assert list(store.live.entries()) == []


def test_live_and_finished_runs_are_listed_together(root: str, tmp_path: Path) -> None:
    store = store_at(root, tmp_path)
    ids = []
    for n in range(4):
        folder = run_with_attempt(store)
        ids.append(folder.run_id)
        if n % 2:
            end(folder)
    assert [run.run_id for run in store.iter_runs()] == sorted(ids, reverse=True)
    assert store.resolve(ids[1]) == ids[1]
    with pytest.raises(RunNotFound):
        store.open("20010101-000000-aaaaaaaa")


def test_what_is_moved_to_a_share_stays_its_owners_alone(tmp_path: Path) -> None:
    store = store_at(f"file://{tmp_path / 'share'}", tmp_path)
    end(run_with_attempt(store))
    paths = [tmp_path / "share", *(tmp_path / "share").rglob("*")]
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths if path.is_file()} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths if path.is_dir()} == {0o700}


def test_a_move_that_fails_is_tried_again_by_the_next_start(
    memory: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = "memory://bucket"
    store = store_at(root, tmp_path)
    folder = run_with_attempt(store, key="k")
    with monkeypatch.context() as patch:
        patch.setattr(MemoryFileSystem, "put_file", refusing)
        record = end(folder)
        assert folder.path.is_dir(), "what could not be moved stays"
        moved, failures = store_at(root, tmp_path).move_pending()
        assert moved == 0
        assert [type(error) for error in failures] == [RecordError]
        assert root in str(failures[0])
    later = store_at(root, tmp_path)
    assert later.read(folder.run_id) == record
    assert later.by_key("k") == record
    assert later.move_pending() == (1, [])
    assert not folder.path.exists()
    assert later.move_pending() == (0, [])
    assert later.read(folder.run_id) == record
    assert later.claim("k").answered == record


def refusing(*args: Any, **kwargs: Any) -> None:
    raise ConnectionError("the network is down")


@pytest.mark.parametrize("survivors", range(6))
def test_a_move_cut_off_at_any_file_is_made_good(
    memory: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, survivors: int
) -> None:
    store = store_at("memory://bucket", tmp_path)
    folder = run_with_attempt(store)
    real = MemoryFileSystem.put_file
    count = 0

    def cut_off(*args: Any, **kwargs: Any) -> Any:
        nonlocal count
        count += 1
        if count > survivors:
            raise KeyboardInterrupt
        return real(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(MemoryFileSystem, "put_file", cut_off)
        try:
            end(folder)
        except KeyboardInterrupt:
            assert [run.run_id for run in store.iter_runs()] == [folder.run_id]
    later = store_at("memory://bucket", tmp_path)
    later.move_pending()
    assert not folder.path.exists()
    assert b"".join(later.open(folder.run_id).attempt(1).lines()) == STREAM
    assert [run.answer for run in later.iter_runs()] == ["yes"]


def test_a_copy_that_does_not_read_back_leaves_the_local_run(
    memory: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_at("memory://bucket", tmp_path)
    folder = run_with_attempt(store)

    def wrong(fs: MemoryFileSystem, local: str, target: str, **kwargs: Any) -> None:
        fs.pipe_file(target, b"something else")

    with monkeypatch.context() as patch:
        patch.setattr(MemoryFileSystem, "put_file", wrong)
        record = end(folder)
    assert folder.read() == record
    assert len(store.move_pending()[1]) == 0
    assert store.read(folder.run_id) == record


def test_nothing_that_a_link_leads_to_is_carried_off(memory: None, tmp_path: Path) -> None:
    store = store_at("memory://bucket", tmp_path)
    folder = run_with_attempt(store)
    (tmp_path / "auth.json").write_text("secret")
    (folder.path / "attempt-1" / "linked").symlink_to(tmp_path / "auth.json")
    (folder.path / "attempt-1" / "folder").symlink_to(tmp_path)
    end(folder)
    assert not any("linked" in name or "auth" in name for name in MemoryFileSystem.store)
    assert (tmp_path / "auth.json").read_text() == "secret"


def test_runs_kept_at_a_place_given_up_still_go_there(
    memory: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = store_at("memory://before", tmp_path)
    folder = run_with_attempt(before)
    with monkeypatch.context() as patch:
        patch.setattr(MemoryFileSystem, "put_file", refusing)
        end(folder)
    after = store_at("memory://after", tmp_path)
    assert after.move_pending() == (1, [])
    assert store_at("memory://before", tmp_path).read(folder.run_id).answer == "yes"


def test_a_place_that_nothing_can_serve_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(PlaceError, match="nosuch") as caught:
        RunStore("nosuch://bucket", home=tmp_path)
    assert caught.value.hint


@pytest.mark.parametrize("form", ["{}", "file://{}", "file:{}", "local://{}"])
def test_local_places_in_any_form_are_written_straight(form: str, tmp_path: Path) -> None:
    store = RunStore(form.format(tmp_path / "my records"), home=tmp_path / "home")
    folder = store.create(b"p")
    assert folder.path.is_relative_to(tmp_path / "my records")
    end(folder)
    assert folder.read().status == "answered"
