"""References to models: `provider/id[:level]`."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from atomic.errors import ModelRefError

LEVELS = ("off", "minimal", "low", "medium", "high", "xhigh", "max")
_LIKE_A_LEVEL = 0.74  # of difflib: two letters changed over in a word of four reach it, `mini` for `minimal` does not
_SHOWN = 80  # characters of a wrong reference that a message repeats: it may be a whole file


@dataclass(frozen=True, slots=True)
class ModelRef:
    """`provider/id[:level]`. The level is what follows the last colon only when it is one of LEVELS, so that
    `openrouter/x/y:free` keeps its whole id. The id may hold slashes."""

    provider: str
    id: str
    level: str | None = None

    @classmethod
    def parse(cls, text: str) -> ModelRef:
        """Read a reference, exactly as written: nothing is stripped, completed or matched loosely.

        Raises ModelRefError for one without provider or id, with blanks or control codes, or one that a command line
        would take for an option.
        """
        if not text:
            raise _unreadable(text, "it is empty")
        if any(char.isspace() or not char.isprintable() for char in text):
            raise _unreadable(text, "it holds a blank or a control code")
        if text.startswith("-"):
            raise _unreadable(text, "it begins with '-', as an option does")
        provider, slash, rest = text.partition("/")
        if not slash:
            raise _unreadable(text, "it has no provider")
        if not provider:
            raise _unreadable(text, "the provider before '/' is empty")
        head, colon, tail = rest.rpartition(":")
        name, level = (head, tail) if colon and tail in LEVELS else (rest, None)
        if not name:
            raise _unreadable(text, "the id after '/' is empty")
        if name.endswith(":"):
            raise _unreadable(text, "nothing follows the last ':'")
        return cls(provider, name, level)

    @property
    def meant_level(self) -> str | None:
        """The level that the end of the id looks like when it is none, as `high` for `:hihg`; None where the id ends
        otherwise. Ids may end in a colon and a word of their own (`llama3:8b`, `x/y:free`, `phi3:mini`)."""
        _, colon, tail = self.id.rpartition(":")
        near = difflib.get_close_matches(tail.lower(), LEVELS, n=1, cutoff=_LIKE_A_LEVEL) if colon else []
        return near[0] if near and self.level is None else None

    @property
    def name(self) -> str:
        """`provider/id`, without the level: what cooldowns, prices and windows are keyed by."""
        return f"{self.provider}/{self.id}"

    def __str__(self) -> str:
        return self.name if self.level is None else f"{self.name}:{self.level}"


def _unreadable(text: str, why: str) -> ModelRefError:
    shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    return ModelRefError(
        f"{shown!r} does not name a model: {why}",
        hint="Write provider/id, as in anthropic/claude-opus-4-5, with a thinking level if you want one: "
        f"anthropic/claude-opus-4-5:high (levels: {', '.join(LEVELS)}).",
        text=text,
    )
