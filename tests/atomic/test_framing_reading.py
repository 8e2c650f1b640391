"""Live, finished and compressed streams are read by one code path."""

from __future__ import annotations

from pathlib import Path

import pytest
import zstandard

from atomic.errors import PlaceError, RecordDamaged
from atomic.framing import Framer, open_stream, read_records, read_with

STREAM = b"".join(b'{"type":"agent_start","n":%d}\n' % n for n in range(50_000))


def compressed(stream: bytes) -> bytes:
    """In many frames, as records are."""
    half = len(stream) // 3
    compressor = zstandard.ZstdCompressor()
    return b"".join(compressor.compress(piece) for piece in (stream[:half], stream[half:-1], stream[-1:]))


@pytest.fixture(params=["plain", "compressed", "misnamed"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "stream.jsonl"
    if request.param == "plain":
        path.write_bytes(STREAM)
    elif request.param == "compressed":
        (tmp_path / "stream.jsonl.zst").write_bytes(compressed(STREAM))
    else:
        path.write_bytes(compressed(STREAM))
    return path


@pytest.mark.parametrize("suffix", ["", ".zst"])
def test_either_form_is_found_under_either_name(place: Path, suffix: str) -> None:
    path = place.with_name(place.name + suffix)
    records = list(read_records(path))
    assert [record.data["n"] for record in records] == list(range(50_000))
    assert records[-1].offset == STREAM.rindex(b"{")
    with open_stream(path) as stream:
        assert b"".join(iter(lambda: stream.read(10_000), b"")) == STREAM


def test_subscriptions_are_passed_on(tmp_path: Path) -> None:
    path = tmp_path / "stream.jsonl"
    path.write_bytes(b'{"type":"message_update"}\n{"type":"turn_end","x":1}\n')
    assert [record.data for record in read_records(path)] == [{"type": "turn_end"}]
    assert len(list(read_records(path, subscribe=["message_update"]))) == 2
    assert list(read_records(path, keep_all=True))[1].data == {"type": "turn_end", "x": 1}


def test_a_framer_of_ones_own_tells_what_it_saw(tmp_path: Path) -> None:
    path = tmp_path / "stream.jsonl"
    path.write_bytes(b'noise\n{"type":"agent_st')
    framer = Framer()
    assert list(read_with(framer, path)) == []
    assert (framer.stats.noise, framer.stats.torn, framer.stats.bytes) == (1, 17, 23)


def test_missing_stream_is_said_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(PlaceError, match=r"there is no stream at .*nowhere"):
        list(read_records(tmp_path / "nowhere.jsonl"))


def test_folder_is_no_stream(tmp_path: Path) -> None:
    with pytest.raises(PlaceError):
        open_stream(tmp_path)


def test_damaged_copy_gives_what_is_readable_and_then_says_where_it_ends(tmp_path: Path) -> None:
    path = tmp_path / "stream.jsonl.zst"
    whole = compressed(STREAM)
    second = whole.index(b"\x28\xb5\x2f\xfd", 4)
    path.write_bytes(whole[: second + 10] + b"\xff" * 50 + whole[second + 60 :])
    framer = Framer()
    with pytest.raises(RecordDamaged) as caught:
        list(read_with(framer, path))
    assert framer.stats.records > 10_000
    assert caught.value.fields["offset"] > 100_000
