"""The bounds of a session, each by itself, on a clock that the test turns."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atomic.policy.facts import Limits
from atomic.session.watch import Watch
from atomic.verdict.facts import StopReason, Usage
from atomic.verdict.seen import AnnouncedWait, OpenTool, WaitKind

NO_LIMITS = Limits(startup=0, idle=0, tool=0, total=0, settle=0, turns=0, tokens=0, cost_usd=0)


@dataclass
class Told:
    """What the stream has told."""

    turns: int = 0
    settled: bool = False
    ended: bool = False
    announced_wait: AnnouncedWait | None = None


def watch(heard: float | None = None, **limits: float) -> Watch:
    return Watch(NO_LIMITS.model_copy(update=limits), started=100.0, heard=heard)


def check(
    watched: Watch, now: float, told: Told | None = None, *tools: OpenTool, usage: Usage | None = None
) -> StopReason | None:
    return watched.check(now, told or Told(), tools, usage or Usage())


def test_startup_is_the_time_to_the_first_byte() -> None:
    watched = watch(startup=60)
    assert check(watched, 160) is None
    assert check(watched, 160.1) is StopReason.STARTUP
    watched.grew(160.05)
    assert check(watched, 1000) is None


def test_idle_is_silence() -> None:
    watched = watch(heard=110, idle=30)
    assert check(watched, 140) is None
    assert check(watched, 141) is StopReason.IDLE
    watched.grew(140)
    assert check(watched, 170) is None


def test_a_running_tool_has_its_own_limit() -> None:
    watched = watch(heard=110, idle=30, tool=3600)
    tools = (OpenTool("bash", 110), OpenTool("read", 500))
    assert check(watched, 3710, Told(), *tools) is None
    assert check(watched, 3711, Told(), *tools) is StopReason.TOOL
    assert check(watched, 3711, Told(), tools[1]) is None


@pytest.mark.parametrize("kind", [WaitKind.RETRY, WaitKind.SUMMARY_RETRY])
def test_an_announced_delay_is_not_idleness(kind: WaitKind) -> None:
    watched = watch(heard=110, idle=30)
    told = Told(announced_wait=AnnouncedWait(kind, 600, 110))
    assert check(watched, 740, told) is None
    assert check(watched, 741, told) is StopReason.IDLE
    told.announced_wait = None
    assert check(watched, 300, told) is StopReason.IDLE


@pytest.mark.parametrize("kind", [WaitKind.COMPACTION, WaitKind.SUMMARY])
def test_the_providers_time_is_bounded_like_a_tools(kind: WaitKind) -> None:
    told = Told(announced_wait=AnnouncedWait(kind, 0, 110))
    watched = watch(heard=110, idle=30, tool=3600)
    assert check(watched, 3710, told) is None
    assert check(watched, 3711, told) is StopReason.IDLE
    assert check(watch(heard=110, idle=30, tool=0), 10**6, told) is None
    assert check(watch(heard=110, idle=30, tool=10), 140, told) is None, "never less than idle"


def test_total_counts_whatever_happens() -> None:
    watched = watch(heard=199, total=100)
    assert check(watched, 200, Told(), OpenTool("bash", 199)) is None
    assert check(watched, 200.1, Told(), OpenTool("bash", 199)) is StopReason.TOTAL


@pytest.mark.parametrize("closed", [Told(settled=True), Told(ended=True)])
def test_after_the_end_only_the_settle_limit_counts(closed: Told) -> None:
    watched = watch(heard=110, startup=1, idle=1, tool=1, total=1, tokens=1, settle=10)
    assert check(watched, 500, closed, usage=Usage(input=9)) is None
    assert check(watched, 510, closed, usage=Usage(input=9)) is None
    assert check(watched, 511, closed, usage=Usage(input=9)) is StopReason.SETTLED


def test_an_end_that_was_none_starts_the_settle_limit_anew() -> None:
    watched = watch(heard=110, settle=10)
    assert check(watched, 110, Told(ended=True)) is None
    assert check(watched, 119, Told()) is None
    assert check(watched, 121, Told(ended=True)) is None
    assert check(watched, 132, Told(ended=True)) is StopReason.SETTLED


def test_budgets() -> None:
    assert check(watch(turns=3), 101, Told(turns=3)) is None
    assert check(watch(turns=3), 101, Told(turns=4)) is StopReason.TURNS
    assert check(watch(tokens=10), 101, usage=Usage(input=4, output=5)) is None
    assert check(watch(tokens=10), 101, usage=Usage(input=4, output=6)) is StopReason.TOKENS
    assert check(watch(cost_usd=1), 101, usage=Usage(cost_usd=0.9)) is None
    assert check(watch(cost_usd=1), 101, usage=Usage(cost_usd=1.0)) is StopReason.COST
    assert check(watch(cost_usd=1), 101, usage=Usage(cost_usd=None)) is None


WAITS = st.none() | st.builds(AnnouncedWait, st.sampled_from(list(WaitKind)), st.floats(0, 1e6), st.floats(0, 1e6))
TOLD = st.builds(Told, st.integers(0, 99), st.booleans(), st.booleans(), WAITS)
TOOLS = st.lists(st.builds(OpenTool, st.text(), st.floats(0, 1e6)), max_size=3)
USAGES = st.builds(Usage, input=st.integers(0, 10**9), cost_usd=st.none() | st.floats(0, 1e6))


@given(TOLD, TOOLS, USAGES, st.floats(0, 1e9), st.none() | st.floats(0, 1e9))
def test_without_limits_nothing_is_ever_stopped(
    told: Told, tools: list[OpenTool], usage: Usage, now: float, heard: float | None
) -> None:
    assert Watch(NO_LIMITS, 0.0, heard).check(now, told, tools, usage) is None


@given(TOLD, TOOLS, USAGES, st.floats(0, 1e6))
def test_with_every_limit_no_silence_lasts_for_ever(
    told: Told, tools: list[OpenTool], usage: Usage, heard: float
) -> None:
    watched = Watch(Limits(), 0.0, heard)
    watched.check(heard, told, tools, usage)
    assert watched.check(heard + 1e7, told, tools, usage) is not None
