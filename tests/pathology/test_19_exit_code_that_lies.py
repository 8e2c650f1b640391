"""Keeps away: exit 0 on a model's error, or with no output at all, counts as success; exit 1 after an error that the
agent recovered from counts as failure."""

from __future__ import annotations

from typing import Any

import pytest

from atomic.failures import FailureKind
from tests.agents import Place, closing, message, opening
from tests.pathology.stage import lines, plays


def error(text: str) -> dict[str, Any]:
    said = message("", "error")
    return {**said, "message": {**said["message"], "errorMessage": text}}


OVERLOADED = error("503 the model is overloaded")
RETRY = {"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 1, "errorMessage": "503"}


@pytest.mark.parametrize(
    ("stream", "code", "kind"),
    [
        (lines(*opening(), OVERLOADED, *closing()), 0, FailureKind.PROVIDER_UNAVAILABLE),
        (lines(*opening(), OVERLOADED, *closing(settled=False)), 0, FailureKind.PROVIDER_UNAVAILABLE),
        (b"", 0, FailureKind.EMPTY),
        (lines(opening()[0]), 0, FailureKind.EMPTY),
        (lines(*opening(), message(""), *closing()), 0, FailureKind.EMPTY),
        (lines(*opening(), OVERLOADED, closing()[0], RETRY, *opening()[1:], message("well"), *closing()), 1, None),
        (lines(*opening(), message("well"), *closing()), 137, None),
    ],
)
async def test_the_last_settled_state_wins(place: Place, stream: bytes, code: int, kind: FailureKind | None) -> None:
    record = await place.run(plays(place, stream, f"exit {code}"))
    assert record.kind is kind
    assert record.exit_code == code
    assert record.verdict is not None
    contradicts = [warning for warning in record.verdict.warnings if "the process ended otherwise" in warning]
    assert len(contradicts) == (1 if code else 0)
