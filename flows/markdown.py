"""Markdown that hostile text cannot break out of: no image, no link, no HTML but what we write ourselves."""

from __future__ import annotations

import re

from atomic.text import one_line

TEXT_LIMIT = 400  # characters of one piece of text; the whole of it is in the record
_TICKS = re.compile("`+")
_INERT = str.maketrans({"[": "(", "]": ")", "<": "‹", ">": "›", "`": "'", "|": "¦", "*": "∗", "_": "＿", "!": "ǃ"})


def code(text: str, limit: int = TEXT_LIMIT) -> str:
    """The text as a code span: nothing within one is a link, an image or HTML, whoever renders it."""
    line = one_line(text, limit)
    if not line:
        return "–"
    fence = "`" * (max(map(len, _TICKS.findall(line)), default=0) + 1)
    pad = " " if len(fence) > 1 or line[0] == "`" else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def cell(text: str, limit: int = TEXT_LIMIT) -> str:
    """The text for a cell of a table artifact, which some pages of Prefect render as Markdown and some do not: its
    signs are replaced by ones that look alike and mean nothing, and addresses are taken apart."""
    return one_line(text, limit).replace("://", ":⁄⁄").replace("www.", "www․").replace("@", "＠").translate(_INERT)
