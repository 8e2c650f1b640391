"""Runs found by id, beginning and date; damage told; lines read out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from atomic.errors import RecordDamaged, RecordError, RunNotFound
from atomic.record import RunFolder, RunStore
from atomic.record.cat import find_attempts, lines_of, type_of
from atomic.record.layout import is_run_id, new_run_id, run_path

NOW = 1_700_000_000.0  # 2023-11-14 22:13:20 UTC


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "records", home=tmp_path / "home", fsync=False)


def made_at(store: RunStore, monkeypatch: pytest.MonkeyPatch, when: float) -> RunFolder:
    with monkeypatch.context() as patch:
        patch.setattr("time.time", lambda: when)
        return store.create(b"p")


def test_ids_name_their_time_and_sort_by_it() -> None:
    assert re.fullmatch(r"20231114-221320-[2-7a-z]{8}", new_run_id(NOW))
    ids = [new_run_id(NOW + n * 0.002) for n in range(2000)]
    assert ids == sorted(ids)
    assert len({new_run_id(NOW) for _ in range(50)}) == 50
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


def cut_off_stream(store: RunStore) -> RunFolder:
    """A run of two attempts: one at rest whose last line lacks its LF, one live; and a third without a stream."""
    folder = store.create(b"p")
    for n in (1, 2, 3):
        folder.attempt(n).create(b"p")
    folder.attempt(1).stream.write_bytes(FIRST)
    folder.attempt(1).finish()
    folder.attempt(2).stream.write_bytes(SECOND)
    return folder


FIRST = b'{"type":"session"}\nnoise {"type":"agent_end"}\n{"n":1,"type":"agent_end"}\n{"type":"message_end","te'
SECOND = b'{"type":"session","n":2}\n\xff\xfe\n{"type":"agent_end","text":"\xe2\x80\xa8\\ud800"}\n'


def lines(store: RunStore, text: str) -> list[bytes]:
    return [line for attempt in find_attempts(store, text)[1] for line in lines_of(attempt)]


def test_lines_of_a_run_come_as_the_agent_wrote_them(store: RunStore) -> None:
    folder = cut_off_stream(store)
    assert b"".join(lines(store, "latest")) == FIRST + b"\n" + SECOND
    assert b"".join(lines(store, f"{folder.run_id}/2")) == SECOND
    assert lines(store, "latest/3") == []


def test_each_line_has_its_event_type(store: RunStore) -> None:
    cut_off_stream(store)
    assert [type_of(line) for line in lines(store, "latest")] == [
        *("session", "", "agent_end", "message_end"),  # the last is torn, but says what it was to be
        *("session", "", "agent_end"),
    ]


@pytest.mark.parametrize("number", ["4", "0", "-1", "x", "", "1/2", "01"])
def test_an_attempt_that_is_not_there_is_named_with_those_that_are(store: RunStore, number: str) -> None:
    cut_off_stream(store)
    with pytest.raises(RunNotFound, match="has no attempt") as caught:
        find_attempts(store, f"latest/{number}")
    assert "attempt-3" in (caught.value.hint or "")
