"""Keys of idempotence: claimed once, answered for ever."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from atomic.errors import RecordDamaged, UsageError
from atomic.failures import FailureKind
from atomic.record import Claim, RunFolder, RunRecord, RunStore
from atomic.record.files import LockTaken, locked

NOW = 1_700_000_000.0  # 2023-11-14 22:13:20 UTC


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "records", home=tmp_path / "home", fsync=False)


def answered(folder: RunFolder, answer: str = "yes") -> RunRecord:
    """Bring a run to its end with this answer."""
    record = folder.read().model_copy(update={"status": "answered", "answer": answer, "ended_at": NOW})
    folder.finish(record)
    return record


def failed(folder: RunFolder) -> None:
    folder.finish(folder.read().model_copy(update={"status": "failed", "kind": FailureKind.QUOTA, "ended_at": NOW}))


def test_an_answered_key_is_never_bought_again(store: RunStore) -> None:
    assert store.by_key("k") is None
    assert store.claim("k") == Claim("k")
    folder = store.create(b"p", key="k")
    record = answered(folder, "forty-two")
    claim = store.claim("k")
    assert claim.answered == record
    assert store.by_key("k") == record
    assert store.claim("other") == Claim("other")


def test_a_key_whose_run_failed_may_be_run_again(store: RunStore) -> None:
    store.claim("k")
    failed(store.create(b"p", key="k"))
    assert store.claim("k") == Claim("k")
    second = store.create(b"p", key="k")
    answered(second)
    claim = store.claim("k")
    assert claim.answered is not None
    assert claim.answered.run_id == second.run_id


def test_a_running_key_is_refused_with_who_has_it_and_since_when(store: RunStore) -> None:
    store.claim("k")
    with pytest.raises(UsageError, match="already running"):
        store.claim("k")
    folder = store.create(b"p", key="k")
    with pytest.raises(UsageError, match=folder.run_id) as caught:
        store.claim("k")
    assert caught.value.owner["pid"] == os.getpid()
    assert caught.value.since
    assert caught.value.hint


def test_a_released_key_is_free_and_a_bound_one_stays(store: RunStore) -> None:
    store.claim("k")
    store.release("k")
    assert store.claim("k") == Claim("k")
    store.create(b"p", key="k")
    store.release("k")
    with pytest.raises(UsageError):
        store.claim("k")


def test_a_key_is_not_bought_again_because_its_record_was_removed(store: RunStore) -> None:
    store.claim("k")
    folder = store.create(b"p", key="k")
    answered(folder)
    shutil.rmtree(folder.path)
    assert store.by_key("k") is None
    with pytest.raises(UsageError, match=f"{folder.run_id}, which was answered") as caught:
        store.claim("k")
    assert caught.value.hint is not None
    assert caught.value.file in caught.value.hint
    Path(caught.value.file).unlink()
    assert store.claim("k") == Claim("k"), "as the hint says"


def test_a_key_whose_run_failed_is_free_without_its_record(store: RunStore) -> None:
    store.claim("k")
    folder = store.create(b"p", key="k")
    failed(folder)
    shutil.rmtree(folder.path)
    assert store.claim("k") == Claim("k")


def test_a_forgotten_run_frees_its_key_and_no_other_s(store: RunStore) -> None:
    store.claim("k")
    folder = store.create(b"p", key="k")
    answered(folder)
    store.keys.forget("k", "another")
    assert store.claim("k").answered is not None
    store.keys.forget("k", folder.run_id)
    assert store.claim("k") == Claim("k")


@pytest.mark.parametrize("key", ["", "../../x", "a\0b", "\ud800", "x" * 100_000, "ключ"])
def test_any_text_is_a_key(store: RunStore, key: str) -> None:
    store.claim(key)
    record = answered(store.create(b"p", key=key))
    assert store.claim(key).answered == record
    assert store.claim(key + "!").answered is None


def test_a_damaged_key_is_told_and_not_taken_for_a_free_one(store: RunStore) -> None:
    store.claim("k")
    answered(store.create(b"p", key="k"))
    (path,) = (path for path in store.keys.folder.iterdir() if len(path.name) == 64)
    path.write_bytes(b"\0\0\0")
    with pytest.raises(RecordDamaged, match=path.name):
        store.claim("k")


def _claim_once(root: Path, barrier: Any, outcomes: Any) -> None:
    store = RunStore(root / "records", home=root / "home", fsync=False)
    for key in ("a", "b", "c"):
        barrier.wait()
        folder = None
        try:
            claim = store.claim(key)
            outcome = "answered" if claim.answered else "orphan" if claim.orphan else "mine"
            folder = store.create(b"p", key=key) if outcome == "mine" else None
        except Exception as error:
            outcome = type(error).__name__
        outcomes.put((key, outcome))
        barrier.wait()
        if folder is not None:
            answered(folder, key)
    barrier.wait()


def test_of_many_processes_one_gets_the_key(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    number = 4
    barrier, outcomes = context.Barrier(number), context.Queue()
    workers = [context.Process(target=_claim_once, args=(tmp_path, barrier, outcomes)) for _ in range(number)]
    for worker in workers:
        worker.start()
    found = [outcomes.get() for _ in range(3 * number)]
    for worker in workers:
        worker.join()
    assert sorted(found) == sorted((key, what) for key in "abc" for what in ("mine", *("UsageError",) * (number - 1)))
    store = RunStore(tmp_path / "records", home=tmp_path / "home")
    assert {key: claim.answered.answer for key in "abc" if (claim := store.claim(key)).answered} == {
        "a": "a",
        "b": "b",
        "c": "c",
    }


def test_of_many_threads_one_gets_the_key(store: RunStore) -> None:
    gained = []

    def take() -> None:
        with contextlib.suppress(UsageError):
            gained.append(store.claim("k"))

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert gained == [Claim("k")]


def test_a_lock_goes_with_the_process_that_held_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    hold = (
        "import sys, time; from pathlib import Path; from atomic.record.files import locked\n"
        "with locked(Path(sys.argv[1])): print(flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", hold, str(path)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(LockTaken), locked(path, wait=False):
            pass
        holder.kill()
        with locked(path):
            pass
