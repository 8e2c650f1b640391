"""How many sessions there may be on all machines together: what is asked for, and what holds a session's place."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from atomic.errors import UsageError
from atomic.text import one_line

HINT = "Write NAME=N, or NAME for a limit that Prefect knows: --limit-across team=20"
_ASKED = re.compile(r"([^/%&<>=\x00-\x1f\x7f]+)(?:=(\d{1,6}))?")  # Prefect's names hold none of these


@dataclass(frozen=True, slots=True)
class SharedLimit:
    """A global concurrency limit of Prefect's. ``most`` is what it is set to; None: what it is there."""

    name: str
    most: int | None = None

    @classmethod
    def parse(cls, text: str) -> SharedLimit:
        """Read ``NAME=N`` or ``NAME``. Raises UsageError."""
        found = _ASKED.fullmatch(text.strip())
        name = found[1].strip() if found is not None else ""
        if found is None or not name or not name.isprintable():
            raise UsageError(f"{one_line(text, 100)!r} is no limit across machines", hint=HINT, key="limit_across")
        most = None if found[2] is None else int(found[2])
        if most == 0:
            raise UsageError(f"{name}=0 would let no session begin", hint=HINT, key="limit_across")
        return cls(name, most)

    def __str__(self) -> str:
        return self.name if self.most is None else f"{self.name}={self.most}"


class Across(Protocol):
    """Gives each session its place among those of all machines."""

    may_ask: Callable[[], bool]  # whether sessions may begin now

    @property
    def waiting(self) -> int:
        """How many sessions wait for a place."""
        ...

    def place(self) -> AbstractAsyncContextManager[None]:
        """A session's place, waited for, and held until the context ends. Raises CancelledError where none is given
        any more."""
        ...

    def close(self) -> None:
        """Give no place any more: whoever waits for one is refused."""
        ...
