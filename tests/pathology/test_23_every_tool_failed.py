"""Keeps away: every tool call failed, and the run counts as fine without a word."""

from __future__ import annotations

from tests.agents import Place
from tests.pathology.stage import ask


async def test_failed_tools_are_counted_and_shown(place: Place) -> None:
    for model in ("scripted/tool-fails", "scripted/tool-fails-pi"):
        result = await ask(place, "x", model)
        (verdict,) = result.verdicts
        assert (verdict.tool_calls, verdict.failed_tool_calls) == (1, 1)
        assert "attempt 1: every tool call failed (1)" in result.warnings
