"""The files of a run: what is written, and what becomes of it where the disk refuses."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from atomic.errors import PlaceError, RecordError
from atomic.failures import FailureKind
from atomic.policy.facts import Limits
from atomic.processes import ProcessId
from atomic.record import AttemptRecord, AttemptSummary, Claim, RunFolder, RunRecord, RunStore
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
names = st.text(max_size=20)  # lone surrogates are refused in the names of metadata, before a record is made
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
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
@given(answer=texts, message=texts, metadata=st.dictionaries(names, json_values, max_size=4), tags=st.lists(texts))
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
