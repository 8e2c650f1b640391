"""Keeps away: a block of NUL bytes, which a crash of the machine leaves in a file, makes all of it unreadable."""

from __future__ import annotations

from pathlib import Path

from atomic.verdict import read_verdict
from tests.agents import opening
from tests.pathology.stage import answered, lines


def test_the_block_is_damage_with_its_offset_and_the_rest_is_read(tmp_path: Path) -> None:
    head = lines(*opening())
    file = tmp_path / "stream.jsonl"
    file.write_bytes(head + b"\0" * 5000 + b"\n" + answered("still here")[len(head) :])
    verdict = read_verdict(file, exit_code=0)
    assert verdict.answer == "still here"
    assert f"the stream is damaged at byte {len(head)} (NUL bytes)" in verdict.warnings
