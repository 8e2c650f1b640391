"""Keeps away: debug lines of wrappers, hooks and package managers on stdout end the run, or vanish from the record."""

from __future__ import annotations

import pytest

from tests.agents import Place
from tests.pathology.stage import answered, plays

NOISE = (
    b"npm warn deprecated thing@1.0.0\n",
    b"[debug] {not json}\n",
    b'["a", "list"]\n42\nnull\n"text"\n',
    b"\xff\xfe\x00 not text\n",
    b'{"unclosed": "\n',
    b'{"type": 7}\n',
)


@pytest.mark.parametrize("noise", NOISE)
async def test_noise_is_counted_and_kept_and_ends_nothing(place: Place, noise: bytes) -> None:
    head, tail = answered("heard").split(b"\n", 1)
    record = await place.run(plays(place, noise + head + b"\n" + noise + tail + noise))
    assert record.verdict is not None
    assert record.verdict.answer == "heard"
    assert record.verdict.noise or noise == NOISE[-1], "an object without a type is a record that nobody knows"
    assert place.stream(record).count(noise) == 3
