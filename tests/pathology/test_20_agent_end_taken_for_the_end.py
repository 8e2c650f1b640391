"""Keeps away: the first `agent_end` is taken for the end, and the agent is killed in its own retry or compaction."""

from __future__ import annotations

from typing import Any

import pytest

from atomic.policy import Limits
from atomic.verdict.facts import Status
from tests.agents import Place, closing, message, opening, say
from tests.pathology.test_19_exit_code_that_lies import OVERLOADED

COMPACTING = {"type": "compaction_start", "reason": "overflow"}
COMPACTED = {"type": "compaction_end", "reason": "overflow", "result": {}, "aborted": False, "willRetry": True}
RETRY = {"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 800, "errorMessage": "503"}
FALLBACK = {"type": "model_fallback_start", "from": "a/b", "to": "c/d", "reason": "503", "attempt": 1}


@pytest.mark.parametrize("settles", [True, False])
@pytest.mark.parametrize("announced", [[RETRY], [COMPACTING], [COMPACTING, COMPACTED], [FALLBACK]])
async def test_the_agents_own_recovery_is_waited_for(
    place: Place, announced: list[dict[str, Any]], settles: bool
) -> None:
    script = say(*opening(), OVERLOADED, closing()[0], *announced) + "sleep 0.8\n"
    script += say(*opening()[1:], message("at last"), *closing(settled=settles))
    record = await place.run(script, limits=Limits(settle=0.2))
    assert record.status is Status.ANSWERED
    assert record.verdict is not None
    assert record.verdict.answer == "at last"
    assert record.verdict.stopped is None
