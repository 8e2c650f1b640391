"""Keeps away: paths with spaces, quotes or non-ASCII, a clock that jumps, a locale of C, HOME unset: each has broken
tools that worked on their authors' machines. Disks that are full or read-only: tests/flows/test_bad_places.py."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from atomic.verdict.facts import Status
from tests.agents import Place, answer, closing, message, opening, say
from tests.pathology.stage import ask

NAMES = ("with blank ", "'quotes' \"and\" `ticks`", "-rf", "$HOME;&|*?", "ümläut 日本 😀", "new\nline", "%s{0}\\n")


@pytest.mark.parametrize("name", NAMES)
async def test_a_run_with_fallback_and_carry_in_a_place_of_any_name(tmp_path: Path, name: str) -> None:
    place = Place(tmp_path / name)
    result = await ask(place, "x", "one/tool-overflow", "two/echo")
    assert result.answered
    assert [attempt.carry for attempt in result.attempts] == [False, True]
    assert (place.work / "worked.txt").read_text() == "worked\n"
    assert Path(result.record).is_dir()


@pytest.mark.parametrize("step", [-1e5, 1e5])
async def test_a_clock_that_jumps_breaks_no_limit(place: Place, monkeypatch: pytest.MonkeyPatch, step: float) -> None:
    now = time.time()
    jumps = iter(now + step * n for n in range(10**4))
    monkeypatch.setattr("time.time", lambda: next(jumps))
    record = await place.run(say(*opening()) + "sleep 0.3\n" + say(message("done"), *closing()))
    assert record.status is Status.ANSWERED


async def test_it_works_without_home_and_in_the_locale_c(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    monkeypatch.setenv("LC_ALL", "C")
    assert (await place.run(answer("日本"))).status is Status.ANSWERED
