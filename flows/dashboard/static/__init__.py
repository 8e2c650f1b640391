"""The style sheet and the script of our own, served from here: nothing is loaded from elsewhere."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

FOLDER = Path(__file__).parent
STYLE, SCRIPT = "dashboard.css", "dashboard.js"


def style_sheet() -> str:
    """Path of the style sheet; it changes with its content, so that no browser keeps an old one."""
    return _address(STYLE)


def script() -> str:
    """Path of the script that runs before a page is painted: the theme that was chosen."""
    return _address(SCRIPT)


@functools.cache
def _address(name: str) -> str:
    return f"/static/{name}?{hashlib.sha256((FOLDER / name).read_bytes()).hexdigest()[:12]}"
