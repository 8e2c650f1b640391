from __future__ import annotations

import random
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from atomic.errors import RecordDamaged
from atomic.framing import read_records
from atomic.framing.frames import torn_frame
from atomic.verdict import read_verdict

PIECES = (b"", b"a" * 500_000, random.Random(1).randbytes(300_000), b'{"type":"session"}\n' * 9_000)


def packed(*, checksum: bool, sized: bool = True) -> tuple[bytes, list[int]]:
    """Frames of every sort of block, and where each ends."""
    compressor = zstandard.ZstdCompressor(level=3, write_checksum=checksum, write_content_size=sized)
    data, ends = b"", []
    for piece in PIECES:
        data += compressor.compress(piece)
        ends.append(len(data))
    return data, ends


@pytest.mark.parametrize("checksum", [True, False])
@pytest.mark.parametrize("sized", [True, False])
def test_whole_files_are_whole(tmp_path: Path, checksum: bool, sized: bool) -> None:
    data, _ = packed(checksum=checksum, sized=sized)
    (tmp_path / "x.zst").write_bytes(data)
    assert torn_frame(tmp_path / "x.zst") is None
    (tmp_path / "plain").write_bytes(b"not compressed")
    assert torn_frame(tmp_path / "plain") is None


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.integers(5, len(packed(checksum=True)[0]) - 1))
def test_a_file_that_is_cut_anywhere_else_is_not(tmp_path: Path, cut: int) -> None:
    data, ends = packed(checksum=True)
    (tmp_path / "x.zst").write_bytes(data[:cut])
    torn = torn_frame(tmp_path / "x.zst")
    assert torn == (None if cut in ends else max(end for end in (0, *ends) if end <= cut))


def test_what_can_be_read_of_a_cut_stream_is_read_and_then_told(tmp_path: Path) -> None:
    line = b'{"type":"session"}\n'
    compress = zstandard.ZstdCompressor().compress
    (tmp_path / "stream.jsonl.zst").write_bytes(compress(line * 3) + compress(line)[:-2])
    reading = read_records(tmp_path / "stream.jsonl")
    assert [next(reading).type for _ in range(3)] == ["session"] * 3
    with pytest.raises(RecordDamaged, match="cut off"):
        list(reading)
    with pytest.raises(RecordDamaged):
        read_verdict(tmp_path / "stream.jsonl.zst")
