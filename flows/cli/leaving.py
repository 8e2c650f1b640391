"""How the program leaves: as Python does, or at once."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from flows.cli.output import flush

_at_once = False


def leave_at_once() -> None:
    """From now on nothing is waited for at the end: Prefect's threads would go on asking a server that has gone, for a
    quarter of a minute, when all is on record."""
    global _at_once  # noqa: PLW0603 - there is one end of the process
    _at_once = True


def leave(code: int) -> NoReturn:
    """End the process with this exit code. What is left in the streams is written; one that takes nothing changes
    nothing any more."""
    flush()
    if _at_once:
        os._exit(code)
    sys.exit(code)
