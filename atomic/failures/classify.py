"""From an error's text to its kind."""

from __future__ import annotations

from collections.abc import Collection

from atomic.failures.kinds import FailureKind
from atomic.failures.parts import Parts, take_apart
from atomic.failures.wordings import GENERIC, ORDER, Wording

# Words that say only that something went wrong further in; compared in lower case, without a final full stop.
_WRAPPERS = frozenset(
    {
        "",
        "error",
        "aborted",
        "terminated",
        "typeerror: terminated",
        "fetch failed",
        "typeerror: fetch failed",
        "connection error",
        "request failed",
        "request was aborted",
        "operation aborted",
        "this operation was aborted",
        "the operation was aborted",
        "exited before completing",
        "agent exited before completing",
        "process exited before completing",
        "stream ended without finish_reason",
        "provider returned error",
        "provider returned an error",
        "provider finish_reason: error",
        "error occurred",
        "an error occurred",
        "unknown error",
        "an unknown error occurred",
        "unknown: unknownerror",
        "something went wrong",
        "internal error",
    }
)


def classify(text: str, *, code: str | int | None = None) -> FailureKind:
    """The kind that an error's text (and its code, where one is known) means; ``unknown`` when nothing fits.

    Fields of JSON in the text count before its words, the provider's own words before what it quotes, words before
    bare status numbers. The kinds are tried in the order of :data:`atomic.failures.wordings.ORDER`: they overlap.
    """
    parts = take_apart(text, code)
    words = parts.words
    for seen in dict.fromkeys((parts.own_words, words)):
        for wording in ORDER:
            if _says(wording, parts, seen):
                return wording.kind
    for wording in ORDER:
        if wording.statuses & parts.statuses:
            return wording.kind
    return next((kind for name, kind in GENERIC.items() if name in parts.codes), FailureKind.UNKNOWN)


def is_wrapper(text: str) -> bool:
    """Whether the text names no cause of its own, so that one named elsewhere counts more."""
    return text.strip().rstrip(".").lower() in _WRAPPERS


def _says(wording: Wording, parts: Parts, words: str) -> bool:
    if wording.even_if is not None and wording.even_if.search(words) and _names(wording, parts, words):
        return True
    if wording.unless is not None and wording.unless.search(words):
        return False
    return _names(wording, parts, words)


def _names(wording: Wording, parts: Parts, words: str) -> bool:
    return (
        _meets(wording.codes, parts.codes)
        or _meets(wording.strong_statuses, parts.statuses)
        or bool(wording.words.search(words))
    )


def _meets(one: Collection[object], other: Collection[object]) -> bool:
    return any(item in one for item in other)
