"""The record of a real agent's session is what the agent wrote, byte for byte."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import replace
from pathlib import Path

from tests.e2e import tee
from tests.e2e.real import RealAgent


async def test_the_stream_is_kept_byte_for_byte(real: RealAgent, tmp_path: Path) -> None:
    copy = tmp_path / "copy.jsonl"
    wrapped = replace(real.agent, command=(sys.executable, tee.__file__, str(copy), *real.agent.command))
    result = await real.ask("say hi", "fake/toolcall", agent=wrapped)
    folder = real.store.open(result.run_id).attempt(1)
    with folder.open_stream() as stream:
        assert stream.read() == copy.read_bytes()
    kept = folder.read().stream
    assert kept is not None
    assert kept.sha256 == hashlib.sha256(copy.read_bytes()).hexdigest()
    assert kept.bytes == copy.stat().st_size
    assert folder.prompt.read_bytes() == b"say hi"
    assert folder.stderr.read_bytes() == b""
