"""An error's text, taken apart: its codes, its HTTP statuses, and what it says in words.

Providers' errors come as JSON in a string, often inside another JSON's string, behind a status number or a wrapper's
words. Fields tell more than the text as a whole, and do not mistake an echoed prompt or an identifier for the cause.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

# Providers' bodies end before that; what is longer is an echo. The head names the cause, the tail may say when.
LONGEST_HEAD = 3_072
LONGEST_TAIL = 1_024
_DEEPEST = 4  # JSON inside a JSON's string
_MOST_NODES = 400

_MESSAGE_KEYS = frozenset(
    {"message", "msg", "error", "errormessage", "error_message", "error_msg", "error_description", "detail", "details"}
    | {"title", "description", "raw", "errors", "status_msg"}
)
_CODE_KEYS = frozenset(
    {"code", "type", "status", "reason", "error", "error_code", "errorcode", "__type", "errortype", "error_type"}
    | {"finish_reason", "finishreason", "stop_reason", "blockreason", "status_code", "quotaid", "quotametric"}
)
_STATUS_KEYS = frozenset({"code", "status", "status_code", "statuscode", "http_code", "errorstatus", "httpstatuscode"})
# The request, echoed: what stands there was said by the user, not by the provider.
_ECHOES = frozenset(
    {"input", "inputs", "messages", "prompt", "contents", "ctx", "headers", "failed_generation", "request", "user_id"}
)
# A word of prose is no code: codes in a text are told by their underscores or endings.
_CODE = re.compile(r"\b[a-z]\w{0,60}_\w{1,60}\b|\b\w{3,60}(?:exception|error)\b")
_STATUS = re.compile(
    # where a status stands: at the head, after a word that announces it, in brackets
    r"(?:^\W{0,3}(?:error\W{0,3}|http\W{0,3})?"
    r"|\b(?:https?(?:/\d(?:\.\d)?)?|status(?:[ _-]?code)?|error(?:[ _-]?code)?|code|got|returned)\W{1,4}(?:is |of )?"
    r"|[\[(]\s?)"
    r"([45]\d\d)"
    # and not a count of something, a part of a number, or of an identifier
    r"(?![\w%])(?![.,]\d)(?! ?(?:tokens?|requests?|characters?|bytes|m?s\b|seconds?|messages?))"
)
# So many words in quotation marks are somebody else's; a name of a model or parameter has fewer.
_QUOTED = re.compile(r"\"[^\"\n]{1,400}\"|`[^`\n]{1,400}`|(?<!\w)'[^'\n]{1,400}'(?!\w)|“[^”\n]{1,400}”")
_LEAST_QUOTED_WORDS = 3
# A model may be called anything: `unknown model rate-limit-7b` is no rate limit.
_MODEL_NAME = re.compile(r"(\bmodels?:? [\"'`]?)\w{1,80}[-/:.@][\w/:.@-]{1,120}")


@dataclass(slots=True)
class Parts:
    """What an error says. All of it in lower case."""

    codes: set[str] = field(default_factory=set)
    statuses: set[int] = field(default_factory=set)
    messages: list[str] = field(default_factory=list)

    @property
    def words(self) -> str:
        """The messages, one a line."""
        return "\n".join(self.messages)

    @property
    def own_words(self) -> str:
        """The messages without what they quote, and without the names of models."""
        return _MODEL_NAME.sub(r"\1…", _QUOTED.sub(_unquoted, self.words))


def _unquoted(quoted: re.Match[str]) -> str:
    return " … " if len(quoted[0].split()) >= _LEAST_QUOTED_WORDS else quoted[0]


def clip(text: str) -> str:
    """The text, or the head and the tail of one that is too long to be an error."""
    return text if len(text) <= LONGEST_HEAD + LONGEST_TAIL else f"{text[:LONGEST_HEAD]} … {text[-LONGEST_TAIL:]}"


def take_apart(text: str, code: str | int | None = None) -> Parts:
    """The parts of an error's text, and of the code that came beside it."""
    parts = Parts()
    if code is not None:
        _add_code(parts, code, status=True)
    _read(parts, clip(text), depth=0)
    return parts


def _read(parts: Parts, text: str, depth: int) -> None:
    start = text.find("{")
    if start >= 0 and depth < _DEEPEST:
        try:
            found, length = json.JSONDecoder().raw_decode(text[start:])
        except (ValueError, RecursionError):
            pass  # cut or no JSON: its words still say something
        else:
            _read_plain(parts, text[:start])
            for key, value in _walk(found):
                _take(parts, key, value, depth + 1)
            _read_plain(parts, text[start + length :])
            return
    _read_plain(parts, text)


def _read_plain(parts: Parts, text: str) -> None:
    plain = text.strip().lower()
    if not plain:
        return
    parts.messages.append(plain)
    parts.codes.update(_CODE.findall(plain))
    if plain.isalpha():
        parts.codes.add(plain)
    parts.statuses.update(int(number) for number in _STATUS.findall(plain))


def _walk(value: Any) -> Iterator[tuple[str, Any]]:
    """The leaves below the value with the keys they stand under, echoes of the request left out."""
    waiting: list[tuple[str, Any]] = [("", value)]
    for _ in range(_MOST_NODES):
        if not waiting:
            return
        key, found = waiting.pop()
        if isinstance(found, dict):
            waiting.extend((name.lower(), found[name]) for name in reversed(found) if name.lower() not in _ECHOES)
        elif isinstance(found, list):
            waiting.extend((key, item) for item in reversed(found))
        else:
            yield key, found


def _take(parts: Parts, key: str, value: Any, depth: int) -> None:
    if isinstance(value, bool) or value is None:
        return
    if key in _CODE_KEYS and isinstance(value, str | int):
        _add_code(parts, value, status=key in _STATUS_KEYS)
    if key in _MESSAGE_KEYS and isinstance(value, str):
        _read(parts, value, depth)


def _add_code(parts: Parts, code: str | int, *, status: bool) -> None:
    word = str(code).rsplit("#", 1)[-1].strip().lower()[:200] if isinstance(code, str) or -1e6 < code < 1e6 else ""
    parts.codes.add(word)
    if status and len(word) == len("404") and word.isascii() and word.isdigit():
        parts.statuses.add(int(word))
    elif word and not word.isdigit():
        parts.messages.append(word)
