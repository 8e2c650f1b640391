"""The files of a run: written whole, found again, claimed once."""

from __future__ import annotations

import contextlib
import errno
import json
import multiprocessing
import os
import re
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from atomic.errors import PlaceError, RecordDamaged, RecordError, RunNotFound, UsageError
from atomic.failures import FailureKind
from atomic.policy.facts import Limits
from atomic.processes import ProcessId
from atomic.record import AttemptRecord, AttemptSummary, Claim, RunFolder, RunRecord, RunStore
from atomic.record.layout import is_run_id, new_run_id, run_path
from atomic.record.owner import this_process
from atomic.verdict.facts import Evidence, Status, StopReason, Usage, Verdict

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


def made_at(store: RunStore, monkeypatch: pytest.MonkeyPatch, when: float) -> RunFolder:
    with monkeypatch.context() as patch:
        patch.setattr("time.time", lambda: when)
        return store.create(b"p")


# What is written


def test_a_new_run_is_on_disk_with_prompt_and_owner_before_anything_is_spent(store: RunStore) -> None:
    folder = store.create(b"do it \xff\n", name="first", tags=("a",), metadata={"n": 1})
    assert folder.prompt == b"do it \xff\n"
    record = folder.read()
    assert (record.status, record.name, record.tags, record.metadata) == ("running", "first", ("a",), {"n": 1})
    assert record.owner == this_process()
    assert [entry.folder for entry in store.live.entries()] == [str(folder.path)]
    answered(folder)
    assert list(store.live.entries()) == []
    assert store.open(folder.run_id).read().answer == "yes"


def test_only_their_owner_may_read_records(store: RunStore) -> None:
    old = os.umask(0)
    try:
        folder = store.create(b"secret", key="k")
        attempt = folder.attempt(1)
        attempt.create(b"secret")
        attempt.write(AttemptRecord(run_id=folder.run_id, n=1))
        attempt.stream.write_bytes(b"{}\n")
        attempt.finish()
    finally:
        os.umask(old)
    for place in (Path(store.root), store.home):
        for path in (place, *place.rglob("*")):
            mode = stat.S_IMODE(path.stat().st_mode)
            assert mode == (0o700 if path.is_dir() else 0o600), path


def test_attempts_are_listed_in_order_of_their_numbers(store: RunStore) -> None:
    folder = store.create(b"p")
    for n in (10, 2, 1):
        folder.attempt(n).create(b"p")
    (folder.path / "attempt-x").mkdir()
    (folder.path / "attempt-03").mkdir()
    assert [attempt.n for attempt in folder.attempts()] == [1, 2, 10]


def test_an_attempt_is_made_once(store: RunStore) -> None:
    attempt = store.create(b"p").attempt(1)
    attempt.create(b"p")
    with pytest.raises(RecordError, match="is there already"):
        attempt.create(b"other")
    assert attempt.prompt.read_bytes() == b"p"


def test_paths_with_blanks_quotes_and_other_alphabets(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "my 'records' – ünï\n", home=tmp_path / 'ho"me', fsync=True)
    folder = store.create(b"p", key="k y")
    attempt = folder.attempt(1)
    attempt.create(b"p")
    attempt.stream.write_bytes(b"{}\n")
    attempt.finish()
    answered(folder)
    assert b"".join(store.find("latest").attempt(1).lines()) == b"{}\n"


# Round trips

texts = st.text(st.characters(exclude_categories=()), max_size=20)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


def joined(value: Any) -> Any:
    """The value with surrogate pairs joined: JSON knows no other form of them."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    if isinstance(value, dict):
        return {joined(key): joined(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [joined(item) for item in value]
    return value


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(answer=texts, message=texts, metadata=st.dictionaries(texts, json_values, max_size=4), tags=st.lists(texts))
def test_a_run_reads_back_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, answer: str, message: str, metadata: dict[str, Any], tags: list[str]
) -> None:
    path = tmp_path_factory.mktemp("s")
    folder = RunStore(path, home=path, fsync=False).create(b"p")
    record = folder.read().model_copy(
        update={"answer": answer, "message": message, "metadata": metadata, "tags": tuple(tags)}
    )
    folder.write(record)
    assert folder.read().model_dump(mode="json") == joined(record.model_dump(mode="json"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(answer=texts, text=texts, command=st.lists(texts, max_size=3), number=st.integers(0, 2**53))
def test_an_attempt_reads_back_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, answer: str, text: str, command: list[str], number: int
) -> None:
    path = tmp_path_factory.mktemp("s")
    folder = RunStore(path, home=path, fsync=False).create(b"p")
    attempt = folder.attempt(1)
    attempt.create(b"p")
    verdict = Verdict(
        status=Status.FAILED,
        kind=FailureKind.OVERFLOW,
        message=text,
        answer=answer,
        evidence=(Evidence(event="compaction_end", line=3, offset=number, text=text),),
        usage=Usage(input=number, cache_read=1, cost_usd=0.5),
        stopped=StopReason.SETTLED,
    )
    begun = AttemptRecord(
        run_id=folder.run_id,
        n=1,
        command=tuple(command),
        pid=4711,
        process_started=float(number),
        descendants=(ProcessId(1, 2.5),),
        limits=Limits(idle=3),
    )
    record = begun.concluded(verdict, ended_at=NOW)
    attempt.write(record)
    again = attempt.read()
    assert again.model_dump(mode="json") == joined(record.model_dump(mode="json"))
    assert again.process == ProcessId(4711, float(number))
    assert AttemptSummary.of(again).kind is FailureKind.OVERFLOW


def test_fields_of_a_newer_version_survive(store: RunStore) -> None:
    folder = store.create(b"p")
    path = folder.path / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"from_the_future": [1]}))
    folder.write(folder.read().model_copy(update={"name": "n"}))
    assert json.loads(path.read_text())["from_the_future"] == [1]


def test_usage_is_named_as_everywhere_else(store: RunStore) -> None:
    folder = store.create(b"p", usage=Usage(cache_read=7))
    assert json.loads((folder.path / "run.json").read_text())["usage"]["cacheRead"] == 7


# Ids and finding


def test_ids_name_their_time_and_sort_by_it() -> None:
    assert re.fullmatch(r"20231114-221320-[2-7a-z]{8}", new_run_id(NOW))
    ids = [new_run_id(NOW + n * 0.002) for n in range(2000)]
    assert ids == sorted(ids)
    assert len({new_run_id(NOW) for _ in range(2000)}) == 2000
    assert str(run_path("20231114-221320-abcdefgh")) == "2023/11/14/20231114-221320-abcdefgh"


@pytest.mark.parametrize(
    "text",
    [
        "../../etc/passwd",
        "20231114-221320-abcdefg/",
        "20231114-221320-../../..",
        "/",
        "",
        ".",
        "a\0b",
        "20231114-221320-abcdefgh\n",
        "20231114-221320-ABCDEFGH",
        "2023\u0661114-221320-abcdefgh",
        "20231114-221320-abcdefgh/../x",
    ],
)
def test_no_name_leads_out_of_the_records(store: RunStore, text: str) -> None:
    assert not is_run_id(text)
    with pytest.raises(ValueError, match="not a run id"):
        run_path(text)
    with pytest.raises(RunNotFound):
        store.open(text)
    with pytest.raises(RunNotFound):
        store.find(text)
    with pytest.raises(RunNotFound):
        store.read(text)


def test_a_run_is_found_by_id_by_its_beginning_and_as_the_latest(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(RunNotFound, match="no runs yet"):
        store.find("latest")
    runs = [made_at(store, monkeypatch, NOW + day * 86400) for day in (0, 1, 40, 400)]
    assert store.find("latest").run_id == runs[3].run_id
    assert store.find(runs[1].run_id).path == runs[1].path
    assert store.find("20231115").run_id == runs[1].run_id
    assert store.find("202312").run_id == runs[2].run_id
    assert store.find(runs[0].run_id[:-2]).run_id == runs[0].run_id
    with pytest.raises(RunNotFound) as several:
        store.find("202311")
    assert set(several.value.nearest) == {runs[0].run_id, runs[1].run_id}
    typo = runs[2].run_id.replace("2023", "2022")
    with pytest.raises(RunNotFound) as missing:
        store.find(typo)
    assert runs[2].run_id in missing.value.nearest
    assert runs[2].run_id in (missing.value.hint or "")


def test_runs_are_listed_the_newest_first(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    times = [NOW + 86400 * day + second for day in (0, 30, 31, 366) for second in (0, 1, 2)]
    made = [made_at(store, monkeypatch, when).run_id for when in (*times[6:], *times[:6])]
    assert [run.run_id for run in store.iter_runs()] == sorted(made, reverse=True)


def test_listing_opens_only_the_folders_it_needs(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for day in range(10):
        made_at(store, monkeypatch, NOW + 86400 * day)
    opened: list[Path] = []
    real = Path.iterdir

    def iterdir(path: Path) -> Iterator[Path]:
        opened.append(path)
        return real(path)

    monkeypatch.setattr(Path, "iterdir", iterdir)
    next(store.iter_runs())
    assert len(opened) == 4, "root, year, month, day"
    opened.clear()
    store.resolve("20231116")
    assert len(opened) == 4


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\0" * 100, b"[]", b'{"run_id":"x","status":"what"}', b"\xff\xfe", b'{"run_id":1}']
)
def test_damage_is_told_with_its_path_and_never_ends_a_listing(store: RunStore, content: bytes) -> None:
    first, damaged, last = (store.create(b"p") for _ in range(3))
    path = damaged.path / "run.json"
    path.write_bytes(content)
    told: list[RecordError] = []
    assert {run.run_id for run in store.iter_runs(on_damaged=told.append)} == {first.run_id, last.run_id}
    assert [error.path for error in told] == [str(path)]
    assert isinstance(told[0], RecordDamaged)
    assert len(list(store.iter_runs())) == 2
    with pytest.raises(RecordDamaged, match=r"run\.json"):
        damaged.read()
    attempt = first.attempt(1)
    attempt.create(b"p")
    with pytest.raises(RecordDamaged, match=r"attempt\.json is missing"):
        attempt.read()
    (attempt.path / "attempt.json").write_bytes(content)
    with pytest.raises(RecordDamaged, match=r"attempt\.json"):
        attempt.read()


def test_strange_files_among_the_records_are_passed_over(store: RunStore) -> None:
    folder = store.create(b"p")
    root = Path(store.root)
    for name in ("lost+found", "20x3", ".DS_Store", "notes.txt"):
        (root / name).write_text("x")
    (root / "2023").write_text("a file where a year would be")
    (folder.path.parent / "20231114-221320-abcdefgh").mkdir()
    (folder.path.parent / ".hidden").mkdir()
    assert [run.run_id for run in store.iter_runs()] == [folder.run_id]


# Places that refuse


def test_a_file_where_the_records_should_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "records").write_text("x")
    with pytest.raises(PlaceError) as caught:
        RunStore(tmp_path / "records", home=tmp_path / "home").create(b"p")
    assert str(tmp_path / "records") in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
@pytest.mark.parametrize("call", ["open", "write"])
def test_a_disk_that_refuses_leaves_nothing_half_made(
    store: RunStore, monkeypatch: pytest.MonkeyPatch, number: int, call: str
) -> None:
    before = store.create(b"before")
    refusals: list[PlaceError] = []
    real = getattr(os, call)
    count = 0
    fatal = 0

    def refusing(*args: Any, **kwargs: Any) -> Any:
        nonlocal count
        count += 1
        if count == fatal:
            raise OSError(number, os.strerror(number))
        return real(*args, **kwargs)

    for step in range(1, 20):
        count, fatal = 0, step
        with monkeypatch.context() as patch:
            patch.setattr(os, call, refusing)
            try:
                store.create(b"after", key="k")
                break
            except PlaceError as error:
                refusals.append(error)
        assert [run.run_id for run in store.iter_runs()] == [before.run_id]
        assert [entry.run_id for entry in store.live.entries()] == [before.run_id]
        assert [path for place in (Path(store.root), store.home) for path in place.rglob("*.tmp")] == []
        assert store.claim("k") == Claim("k"), "the key is free again"
        store.release("k")
    assert len(refusals) > 1
    assert all(error.hint and error.path for error in refusals)


def test_a_write_that_fails_leaves_the_old_file(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = store.create(b"p", name="old")

    def full(*args: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(PlaceError, match="No space left"):
        folder.write(folder.read().model_copy(update={"name": "new"}))
    assert folder.read().name == "old"
    assert sorted(path.name for path in folder.path.iterdir()) == ["prompt.md", "run.json"]


def test_a_folder_that_vanished_is_named(store: RunStore) -> None:
    folder = store.create(b"p")
    record = folder.read()
    for path in folder.path.iterdir():
        path.unlink()
    folder.path.rmdir()
    with pytest.raises(PlaceError, match=re.escape(str(folder.path))):
        folder.write(record)
    with pytest.raises(PlaceError, match=re.escape(str(folder.path))):
        folder.attempt(1).create(b"p")


# Keys


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


def test_a_key_whose_record_was_removed_is_free(store: RunStore) -> None:
    store.claim("k")
    folder = store.create(b"p", key="k")
    answered(folder)
    for path in folder.path.iterdir():
        path.unlink()
    folder.path.rmdir()
    assert store.by_key("k") is None
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
        try:
            claim = store.claim(key)
            outcomes.put((key, "answered" if claim.answered else "orphan" if claim.orphan else "mine"))
            if not claim.answered and not claim.orphan:
                folder = store.create(b"p", key=key)
                barrier.wait()
                answered(folder, key)
            else:
                barrier.wait()
        except UsageError:
            outcomes.put((key, "taken"))
            barrier.wait()
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
    assert sorted(found) == sorted((key, what) for key in "abc" for what in ("mine", *("taken",) * (number - 1)))
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
