"""What an answer is checked by."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from atomic.policy import FallbackPolicy


@dataclass(frozen=True, slots=True)
class Checks:
    """A schema's file (whole path), a command, and the seconds that the command may take (0: no bound)."""

    command: tuple[str, ...] = ()
    schema: Path | None = None
    seconds: float = 0

    @classmethod
    def of(cls, policy: FallbackPolicy) -> Checks:
        """What this policy checks answers by."""
        return cls(policy.check, policy.answer_schema, policy.limits.check)

    def __bool__(self) -> bool:
        """Whether anything is checked."""
        return bool(self.command) or self.schema is not None
