"""Keeps away: updates that repeat the whole message each time grow with the square of the answer: tens or hundreds of
megabytes, held in memory and kept on disk."""

from __future__ import annotations

import tracemalloc

from atomic.framing import Framer
from tests.agents import Place, closing, message, opening
from tests.pathology.stage import lines, plays

STEPS = 400
ANSWER = "".join(f"word {n} of a long answer. " for n in range(STEPS))


def updates() -> bytes:
    """As many as the answer has pieces, each with all of it so far."""
    pieces = [ANSWER[: len(ANSWER) * n // STEPS] for n in range(STEPS)]
    return lines(*({**message(piece), "type": "message_update"} for piece in pieces))


async def test_they_are_small_on_disk_and_not_in_the_answer(place: Place) -> None:
    stream = lines(*opening()) + updates() + lines(message(ANSWER), *closing())
    record = await place.run(plays(place, stream))
    assert record.verdict is not None
    assert record.verdict.answer == ANSWER
    assert record.verdict.usage.input == 2, "what an update says of usage is not added up"
    assert record.stream is not None
    assert record.stream.compressed_bytes is not None
    assert record.stream.compressed_bytes < len(stream) / 50


def test_they_are_not_held() -> None:
    stream = updates()
    framer = Framer()
    tracemalloc.start()
    try:
        for start in range(0, len(stream), 131_072):
            framer.feed(stream[start : start + 131_072])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert framer.stats.updates == STEPS
    assert peak < len(stream) / 4
