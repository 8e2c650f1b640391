"""Text that came from models, prompts, tools or the environment, made fit for showing: all of it is hostile."""

from __future__ import annotations

import functools
import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping

# Whole sequences first, so that their printable rest does not stay behind: OSC, DCS and their like up to their
# terminator (or the line's end, for one that is never terminated), then CSI, then two-character escapes.
_ESCAPES = re.compile(
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b[ -/]*[0-~]?"
)
_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
# Control codes but tab and newline; marks that turn the direction of text around or are invisible (soft joins between
# letters stay: scripts and emoji need them); tag characters, in which a second text can hide; halves of pairs.
_UNFIT = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
_HALVES = re.compile("[\ud800-\udfff]")
_BLANKS = re.compile(r"\s+")
_PASSWORD = re.compile(r"://[^\s/?#@:]*:([^\s/?#@]+)@")

SECRET_NAME = re.compile(
    r"(?:^|_)(?:API_?KEY|ACCESS_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PAT|CREDENTIALS?)$", re.IGNORECASE
)
# Shorter values are words that stand in texts by chance; masking "1" or "true" everywhere would hide nothing.
SHORTEST_SECRET = 6
SHORTEST_KEY = 8  # characters from which a secret with a digit or a sign in it is no word of a text
LONGEST_WORD = 16  # characters from which letters alone are none either
MASK = "•••"
SLUG_LENGTH = 60


def printable(text: str) -> str:
    """The text without terminal sequences, control codes, direction marks and invisible characters.

    Newlines (all kinds become ``\\n``) and tabs stay; lone surrogates become U+FFFD.
    """
    text = _LINE_ENDS.sub("\n", _ESCAPES.sub("", text))
    return _HALVES.sub("�", _UNFIT.sub("", text))


def one_line(text: str, limit: int = 200) -> str:
    """The printable text as one line of at most `limit` characters; a cut is marked by ``…``."""
    # More than the limit is looked at, since cleaning shortens; but no megabytes are cleaned for the first words.
    head = text[: limit * 8 + 1000]
    line = _BLANKS.sub(" ", printable(head)).strip()
    cut = len(line) > limit or len(head) < len(text)
    return f"{line[: max(limit - 1, 0)].rstrip()}…" if cut else line


def slug(text: str, limit: int = SLUG_LENGTH) -> str:
    """The text as ``[a-z0-9-]+``, at most `limit` long. A text with nothing of the kind gets a digest of its own."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    found = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:limit].rstrip("-")
    return found or hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


@functools.lru_cache(maxsize=1024)  # every session asks for the same names
def is_secret_name(name: str) -> bool:
    """Whether a variable of this name holds a secret: ``OPENAI_API_KEY``, ``GH_TOKEN``, ``DB_PASSWORD`` …"""
    return SECRET_NAME.search(name) is not None


class Masker:
    """Replaces known secrets in texts by ``•••``. Values shorter than SHORTEST_SECRET are left alone.

    Called, it masks a message, where a word too many masked does no harm. ``data`` and ``raw`` are for what must stay
    usable: they leave alone what may as well be a word (``DB_PASSWORD=postgres``), and mask what looks like a key.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {form for secret in secrets for form in _forms(secret) if len(form) >= SHORTEST_SECRET}
        # The longest first, so that a secret that begins with another is masked whole.
        self._known = tuple(sorted(known, key=lambda secret: (-len(secret), secret)))

    @classmethod
    def of(cls, *environments: Mapping[str, str], secrets: Iterable[str] = ()) -> Masker:
        """A masker of the values of all variables whose names say that they are secret, of the passwords in addresses
        that any variable holds, and of the secrets given."""
        found = list(secrets)
        for env in environments:
            for name, value in env.items():
                if is_secret_name(name):
                    found.append(value)
                elif "://" in value:
                    found += _PASSWORD.findall(value)
        return cls(found)

    def __call__(self, text: str) -> str:
        """A message, masked."""
        if not self._known:
            return text
        masked = _pattern(self._known).sub(MASK, text)
        return self._without_cut(masked) if masked.endswith("…") else masked

    def data(self, text: str) -> str:
        """An answer or another text that somebody works with, masked where a secret looks like a key."""
        keys = self._keys
        return _pattern(keys).sub(MASK, text) if keys else text

    def raw(self, data: bytes) -> bytes:
        """The same for bytes."""
        keys = self._keys
        return _raw_pattern(keys).sub(MASK.encode(), data) if keys else data

    @functools.cached_property
    def _keys(self) -> tuple[str, ...]:
        return tuple(filter(is_keylike, self._known))

    def _without_cut(self, text: str) -> str:
        """A text that was cut short, without the beginning of a secret before its ``…``."""
        for secret in self._known:
            for length in range(len(secret) - 1, SHORTEST_SECRET - 1, -1):
                if text.endswith(secret[:length], 0, -1):
                    return f"{text[: -1 - length]}{MASK}…"
        return text


def is_keylike(secret: str) -> bool:
    """Whether a secret looks like a key, and not like a word that stands in a text by chance."""
    return len(secret) >= (LONGEST_WORD if secret.isalpha() else SHORTEST_KEY)


def _forms(secret: str) -> Iterator[str]:
    """A secret, and what becomes of it within JSON and in lines: each of a private key's gives it away."""
    yield secret
    escaped = json.dumps(secret)[1:-1]
    if escaped != secret:
        yield escaped
        yield json.dumps(secret, ensure_ascii=False)[1:-1]
        yield from filter(is_keylike, secret.split("\n") if "\n" in secret else ())


@functools.lru_cache(maxsize=64)
def _pattern(known: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, known)))


@functools.lru_cache(maxsize=64)
def _raw_pattern(known: tuple[str, ...]) -> re.Pattern[bytes]:
    return re.compile(b"|".join(re.escape(_raw(secret)) for secret in known))


def _raw(secret: str) -> bytes:
    try:
        return secret.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a pair, which stands for no byte of the environment
        return secret.encode("utf-8", "surrogatepass")
