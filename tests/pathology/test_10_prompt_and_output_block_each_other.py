"""Keeps away: a large prompt on stdin and a full stdout block each other for ever."""

from __future__ import annotations

from atomic.verdict.facts import Status
from tests.agents import Place, answer


async def test_a_large_prompt_and_a_full_stdout_do_not_block_each_other(place: Place) -> None:
    # Output first, far more than a pipe holds; then the prompt is read.
    noise = "head -c 3000000 /dev/zero | tr '\\0' 'n'; echo\n"
    prompt = b"p" * (4 * (1 << 20))
    record = await place.run(noise + "wc -c > counted\n" + answer(), prompt=prompt)
    assert record.status is Status.ANSWERED
    assert int((place.work / "counted").read_text()) == len(prompt)
