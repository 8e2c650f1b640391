"""Streams put to rest: whatever they hold, and wherever a kill falls, every byte reads back."""

from __future__ import annotations

import hashlib
import os
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from atomic.errors import PlaceError, RecordDamaged, RecordError
from atomic.record import StreamFile, compress
from atomic.record.compress import put_to_rest
from atomic.record.layout import INDEX_FILE, PACKED_FILE, STREAM_FILE
from atomic.record.reading import open_at_line, open_at_offset, read_lines

FRAME = 64
"""Raw bytes a frame in these tests, so that a few hundred bytes make an index of several frames."""

streams = st.lists(
    st.one_of(st.binary(max_size=20), st.just(b"\n"), st.just(b"\n\n\n"), st.binary(min_size=100, max_size=300)),
    max_size=40,
).map(b"".join)


@pytest.fixture
def small_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compress, "FRAME_BYTES", FRAME)
    monkeypatch.setattr(compress, "_READ_BYTES", 50)


def rest(folder: Path, data: bytes) -> StreamFile:
    (folder / STREAM_FILE).write_bytes(data)
    stream = put_to_rest(folder)
    assert stream is not None
    return stream


def whole(folder: Path) -> bytes:
    with open_at_offset(folder, 0) as reader:
        return reader.read()


@pytest.mark.usefixtures("small_frames")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=streams, at=st.floats(0, 1.2))
def test_bytes_from_any_offset_are_those_of_the_raw_stream(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, at: float
) -> None:
    folder = tmp_path_factory.mktemp("attempt")
    stream = rest(folder, data)
    assert (stream.bytes, stream.sha256) == (len(data), hashlib.sha256(data).hexdigest())
    assert not (folder / STREAM_FILE).exists()
    offset = int(at * len(data))
    with open_at_offset(folder, offset) as reader:
        assert reader.read() == data[offset:]


@pytest.mark.usefixtures("small_frames")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=streams, at=st.floats(0, 1.2))
def test_lines_from_any_line_are_those_of_the_raw_stream(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, at: float
) -> None:
    folder = tmp_path_factory.mktemp("attempt")
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    start = 1 + int(at * len(lines))
    wanted = [line for line in lines[start - 1 :] if line]
    (folder / STREAM_FILE).write_bytes(data)
    assert list(read_lines(folder, start)) == wanted, "live"
    put_to_rest(folder)
    assert list(read_lines(folder, start)) == wanted, "at rest"


def test_a_far_event_opens_without_reading_the_rest(tmp_path: Path) -> None:
    line = b'{"type":"message_update","n":%d,"noise":"%s"}\n'
    data = b"".join(line % (n, hashlib.sha256(str(n).encode()).hexdigest().encode()) for n in range(250_000))
    rest(tmp_path, data)
    # What lies before is made unreadable: a reader that touched it would fail.
    packed = tmp_path / PACKED_FILE
    frames = orjson.loads((tmp_path / INDEX_FILE).read_bytes())["frames"]
    assert len(frames) > 5
    with packed.open("r+b") as file:
        file.write(bytes(frames[-1][1]))
    with open_at_line(tmp_path, 249_999) as reader:
        assert orjson.loads(reader.readline())["n"] == 249_998
    with open_at_offset(tmp_path, len(data) - 1) as reader:
        assert reader.read() == b"\n"


@pytest.mark.usefixtures("small_frames")
@pytest.mark.parametrize(
    "harm",
    [
        lambda index: index.unlink(),
        lambda index: index.write_bytes(b""),
        lambda index: index.write_bytes(index.read_bytes()[:-20]),
        lambda index: index.write_bytes(bytes(100)),
        lambda index: index.write_bytes(b"[]"),
        lambda index: index.write_bytes(b'{"compressed_bytes":0,"frames":[]}'),
        lambda index: index.write_bytes(index.read_bytes().replace(b'"compressed_bytes":', b'"compressed_bytes":1')),
        lambda index: index.write_bytes(orjson.dumps(shifted(orjson.loads(index.read_bytes())))),
    ],
)
def test_without_a_good_index_the_same_bytes_come(tmp_path: Path, harm: Any) -> None:
    data = b"".join(b'{"n":%d}\n' % n for n in range(100))
    rest(tmp_path, data)
    harm(tmp_path / INDEX_FILE)
    for offset in (0, 1, 300, len(data) - 1, len(data) + 5):
        with open_at_offset(tmp_path, offset) as reader:
            assert reader.read() == data[offset:]
    assert next(read_lines(tmp_path, 77)) == b'{"n":76}\n'


def shifted(index: dict[str, Any]) -> dict[str, Any]:
    index["frames"] = [[raw, at + (at > 0), lines, flag] for raw, at, lines, flag in index["frames"]]
    return index


def test_a_small_stream_needs_no_index_and_an_empty_one_reads_as_empty(tmp_path: Path) -> None:
    rest(tmp_path, b'{"type":"session"}\n')
    assert sorted(path.name for path in tmp_path.iterdir()) == [PACKED_FILE]
    assert whole(tmp_path) == b'{"type":"session"}\n'
    assert rest(tmp_path, b"").bytes == 0
    assert whole(tmp_path) == b""
    assert list(read_lines(tmp_path)) == []


def test_where_no_agent_was_started_there_is_nothing_to_compress(tmp_path: Path) -> None:
    assert put_to_rest(tmp_path) is None
    with pytest.raises(FileNotFoundError):
        open_at_offset(tmp_path, 0)


def test_any_zstd_tool_reads_it(tmp_path: Path) -> None:
    data = os.urandom(100_000) + b"\n"
    rest(tmp_path, data)
    with zstandard.open(tmp_path / PACKED_FILE, "rb") as file:
        assert file.read() == data


class Killed(BaseException):
    """Stands for the end of the process at this point."""


def steps(monkeypatch: pytest.MonkeyPatch, fatal: int) -> list[str]:
    """Make the fatal-th call that changes or settles something on disk the last one. Returns the calls made."""
    made: list[str] = []

    def watched(name: str, real: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            made.append(name)
            if len(made) == fatal:
                raise Killed
            if len(made) > fatal:
                raise Killed  # a killed process cleans nothing up
            return real(*args, **kwargs)

        return call

    for name in ("replace", "unlink", "rename"):
        monkeypatch.setattr(Path, name, watched(name, getattr(Path, name)))
    for name in ("write", "fsync", "open"):
        monkeypatch.setattr(os, name, watched(name, getattr(os, name)))
    return made


@pytest.mark.usefixtures("small_frames")
@pytest.mark.parametrize("durable", [False, True])
def test_a_kill_at_any_step_loses_no_byte(tmp_path: Path, durable: bool) -> None:
    data = b"".join(b'{"n":%d,"text":"\xe2\x80\xa8"}\n' % n for n in range(40)) + b'{"torn'
    fatal = 0
    while True:
        fatal += 1
        folder = tmp_path / str(fatal)
        folder.mkdir()
        (folder / STREAM_FILE).write_bytes(data)
        with pytest.MonkeyPatch.context() as patch:
            made = steps(patch, fatal)
            try:
                put_to_rest(folder, durable=durable)
                survived = True
            except Killed:
                survived = False
        assert whole(folder) == data, f"after a kill at step {fatal} ({made[-1]})"
        stream = put_to_rest(folder, durable=durable)
        assert stream is not None
        assert stream.sha256 == hashlib.sha256(data).hexdigest()
        assert whole(folder) == data
        assert not (folder / STREAM_FILE).exists()
        if survived:
            break
    assert fatal > (12 if durable else 8), "the test has met the steps it is about"


def test_a_copy_that_does_not_read_back_leaves_the_original(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / STREAM_FILE).write_bytes(b"precious\n")
    real = os.write
    monkeypatch.setattr(os, "write", lambda target, data: real(target, bytes(data)[:-3] + bytes(3)))
    with pytest.raises(RecordError) as caught:
        put_to_rest(tmp_path)
    assert str(tmp_path) in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == [STREAM_FILE]


@pytest.mark.parametrize("number", [28, 30, 13])  # ENOSPC, EROFS, EACCES
def test_a_disk_that_refuses_is_named_and_nothing_half_written_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    (tmp_path / STREAM_FILE).write_bytes(b"precious\n")

    def refuse(*args: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "write", refuse)
    with pytest.raises(PlaceError) as caught:
        put_to_rest(tmp_path)
    assert str(tmp_path) in str(caught.value)
    assert caught.value.hint
    assert [path.name for path in tmp_path.iterdir()] == [STREAM_FILE]


def test_a_torn_compressed_stream_is_said_to_be_damaged(tmp_path: Path) -> None:
    rest(tmp_path, os.urandom(50_000) + b"\n")
    packed = tmp_path / PACKED_FILE
    damaged = bytearray(packed.read_bytes())
    damaged[20_000:20_100] = bytes(100)
    packed.write_bytes(damaged)
    with pytest.raises(RecordDamaged) as caught:
        list(read_lines(tmp_path))
    assert caught.value.path == str(packed)


def test_what_is_written_meanwhile_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = tmp_path / STREAM_FILE
    raw.write_bytes(b"first\n")
    late: Iterator[bytes] = iter([b"second\n"])
    real = compress._compress

    def slow(*args: Any, **kwargs: Any) -> StreamFile:
        stream = real(*args, **kwargs)
        with raw.open("ab") as file:
            file.write(next(late, b""))
        return stream

    monkeypatch.setattr(compress, "_compress", slow)
    stream = put_to_rest(tmp_path)
    assert stream is not None
    assert whole(tmp_path) == b"first\nsecond\n"
    assert stream.bytes == len(b"first\nsecond\n")


def test_a_stream_that_never_stands_still_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = tmp_path / STREAM_FILE
    raw.write_bytes(b"x\n")
    real = compress._compress

    def slow(*args: Any, **kwargs: Any) -> StreamFile:
        stream = real(*args, **kwargs)
        with raw.open("ab") as file:
            file.write(b"x\n")
        return stream

    monkeypatch.setattr(compress, "_compress", slow)
    stream = put_to_rest(tmp_path)
    assert stream is not None
    assert (stream.name, stream.compressed_bytes) == (STREAM_FILE, None)
    assert whole(tmp_path) == raw.read_bytes()


def test_a_reader_finds_one_or_the_other_while_it_changes(tmp_path: Path) -> None:
    data = b'{"n":1}\n' * 1000
    folders = [tmp_path / str(n) for n in range(60)]
    for folder in folders:
        folder.mkdir()
        (folder / STREAM_FILE).write_bytes(data)
    current = [folders[0]]
    done = threading.Event()
    wrong: list[object] = []

    def watch() -> None:
        while not done.is_set():
            try:
                if whole(current[0]) != data:
                    wrong.append("other bytes")
            except BaseException as error:
                wrong.append(error)

    reader = threading.Thread(target=watch)
    reader.start()
    for folder in folders:
        current[0] = folder
        put_to_rest(folder)
    done.set()
    reader.join()
    assert wrong == []


def test_memory_stays_flat_however_long_the_stream(tmp_path: Path) -> None:
    def peak(size: int) -> int:
        with (tmp_path / STREAM_FILE).open("wb") as file:
            for _ in range(size >> 20):
                file.write(b"%s\n" % (b"x" * ((1 << 20) - 1)))
        tracemalloc.start()
        put_to_rest(tmp_path)
        with open_at_line(tmp_path, size >> 20) as reader:
            assert len(reader.readline()) == 1 << 20
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    assert peak(96 << 20) < peak(16 << 20) * 1.2


def test_a_line_longer_than_a_frame_is_found_from_both_sides(tmp_path: Path) -> None:
    long = b"x" * (9 << 20) + b"\n"
    rest(tmp_path, b"first\n" + long + b"last\n")
    assert next(read_lines(tmp_path, 3)) == b"last\n"
    assert next(read_lines(tmp_path, 2)) == long
    with open_at_offset(tmp_path, len(long)) as reader:
        assert reader.read(7) == b"xxxxx\nl"
