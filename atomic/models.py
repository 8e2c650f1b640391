"""Models: their references `provider/id:level`, windows and prices."""

from __future__ import annotations

from dataclasses import dataclass

LEVELS = ("off", "minimal", "low", "medium", "high", "xhigh", "max")


@dataclass(frozen=True, slots=True)
class ModelRef:
    """`provider/id[:level]`. The level is what follows the last colon only when it is one of LEVELS, so that
    `openrouter/x/y:free` keeps its whole id. The id may hold slashes."""

    provider: str
    id: str
    level: str | None = None

    @classmethod
    def parse(cls, text: str) -> ModelRef:
        """Read a reference. Raises ModelRefError for one without provider or id, or with blanks or control codes."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """`provider/id`, without the level: what cooldowns, prices and windows are keyed by."""
        return f"{self.provider}/{self.id}"

    def __str__(self) -> str:
        return self.name if self.level is None else f"{self.name}:{self.level}"
