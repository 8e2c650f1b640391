"""Text from anywhere, fit for a page: it stays text, and what would be invisible in it is shown."""

from __future__ import annotations

import re

OWN_MODEL = "the agent’s own model"  # in the place of a name, where none was asked for

_LINE_ENDS = re.compile("\r\n|\r(?!\n)|[\x85\u2028\u2029]")
# Control codes, marks that turn the direction of text around or are invisible, tag characters, halves of pairs: what
# atomic.text takes out for a terminal, a page can show. Soft joins between letters stay: scripts and emoji need them.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_PICTURES = 0x2400  # U+2400 and on are pictures of the control codes
_DELETE = 0x7F


def visible(text: str) -> str:
    """The text with every invisible character shown: ``␛`` for a control code, ``⟦U+202E⟧`` for the others. All line
    ends become ``\\n``; newlines and tabs stay."""
    return _UNSEEN.sub(_shown, _LINE_ENDS.sub("\n", text))


def folded(text: str, limit: int) -> tuple[str, int]:
    """The visible text cut to `limit` characters, and how many were left out."""
    left = max(len(text) - limit, 0)
    return visible(text[:limit]), left


def _shown(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(_PICTURES + code)
    return "␡" if code == _DELETE else f"⟦U+{code:04X}⟧"
