"""Keeps away: the first record echoes a prompt of hundreds of KiB, and the reader that looks for a small header gives
up."""

from __future__ import annotations

from tests.agents import Place, closing, message, opening
from tests.pathology.stage import lines, plays


async def test_headers_and_echoes_may_be_as_large_as_the_prompt(place: Place) -> None:
    prompt = "All work and no play. " * 30_000
    header, *started = opening()
    echo = {"role": "user", "content": [{"type": "text", "text": prompt}]}
    echoed = [{"type": "message_start", "message": echo}, {"type": "message_end", "message": echo}]
    stream = lines({**header, "prompt": prompt}, *started, *echoed, message("read"), *closing())
    record = await place.run(plays(place, stream), prompt=prompt.encode())
    assert record.verdict is not None
    assert record.verdict.answer == "read"
    assert record.verdict.session_id == "0"
