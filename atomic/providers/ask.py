"""Asking providers for their models over HTTP: are they there, do they take the key, do they have the model."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from atomic.failures import FailureKind, classify
from atomic.providers.find import Access
from atomic.text import Masker, one_line
from atomic.verdict.facts import Facts

if TYPE_CHECKING:
    import httpx

STEP_LIMIT = 5.0  # seconds for each of: connecting, sending, the next piece of the reply; a list is there in one
WHOLE_LIMIT = 10.0  # seconds for a provider in all
LARGEST_REPLY = 8 << 20  # bytes; the longest list known (OpenRouter's) has a little over one MiB
SAID = 200  # characters of a provider's own words that are repeated
# A proxy must not get what is meant for this machine.
_OWN_MACHINE = ("all://localhost", "all://127.0.0.1", "all://[::1]")


class Reach(StrEnum):
    """What came of asking a provider."""

    REACHABLE = "reachable"
    KEY_REFUSED = "key_refused"
    NO_KEY = "no_key"  # there is none, so nobody was asked
    UNREACHABLE = "unreachable"
    UNKNOWN = "unknown"  # not asked, or an answer that says neither yes nor no


class Answer(Facts):
    """What came of asking. ``said`` is for people and holds no key; ``source`` is where the credential comes from;
    ``models`` are the ids it lists, None where it gave no whole list; ``seconds`` is how long it took to answer;
    ``status`` is that of its reply."""

    provider: str
    reach: Reach
    said: str = ""
    source: str = ""
    models: frozenset[str] | None = None
    seconds: float | None = None
    status: int | None = None

    @property
    def turns_away(self) -> bool:
        """Whether it says, by its silence too, that it would not serve a session now."""
        if self.reach is Reach.UNREACHABLE or self.reach is Reach.KEY_REFUSED:
            return True
        return self.status is not None and (self.status == 429 or self.status >= 500)

    def lists(self, model: str) -> bool | None:
        """Whether it has a model of this id; None where that is not known."""
        return None if self.models is None else model in self.models


async def ask_all(
    accesses: Iterable[Access], *, transport: httpx.AsyncBaseTransport | None = None, limit: float = WHOLE_LIMIT
) -> list[Answer]:
    """Ask these providers all at once, over one client; answers come in the same order. ``limit`` is in seconds, for
    each. Nothing is tried again, no redirect is followed, and nothing is raised: what goes wrong is an answer."""
    accesses = list(accesses)
    asked = [access for access in accesses if access.state in ("key", "open")]
    answers = {id(access): _unasked(access) for access in accesses if access not in asked}
    if asked:
        import httpx

        mounts = dict.fromkeys(_OWN_MACHINE) if transport is None else None
        try:
            client = httpx.AsyncClient(
                transport=transport, mounts=mounts, timeout=STEP_LIMIT, follow_redirects=False, max_redirects=0
            )
        except (httpx.InvalidURL, ValueError, ImportError, OSError):
            said = "the proxy or certificates that the environment names cannot be used"
            return [answers.get(id(access)) or _answer(access, Reach.UNREACHABLE, said) for access in accesses]
        async with client:
            replies = await asyncio.gather(*(_ask(access, client, limit) for access in asked))
        answers |= {id(access): answer for access, answer in zip(asked, replies, strict=True)}
    return [answers[id(access)] for access in accesses]


def _unasked(access: Access) -> Answer:
    return _answer(access, Reach.NO_KEY if access.state == "no_key" else Reach.UNKNOWN, access.why)


async def _ask(access: Access, client: httpx.AsyncClient, limit: float) -> Answer:
    import httpx

    assert access.url is not None, "what has no address is not asked"
    begun = time.monotonic()
    try:
        async with asyncio.timeout(limit), client.stream("GET", access.url, headers=dict(access.headers)) as reply:
            body = await _body(reply)
    except (TimeoutError, httpx.TimeoutException):
        return _answer(access, Reach.UNREACHABLE, f"no answer within {min(limit, time.monotonic() - begun):.0f} s")
    except httpx.ConnectError as error:
        return _answer(access, Reach.UNREACHABLE, f"cannot be reached: {one_line(str(error), SAID)}")
    except (httpx.InvalidURL, httpx.UnsupportedProtocol):
        return _answer(access, Reach.UNKNOWN, "its base URL is none that could be asked")
    except (httpx.HTTPError, OSError, ValueError) as error:
        # The text of these can repeat a header, and with it the key.
        return _answer(access, Reach.UNREACHABLE, f"the connection broke ({type(error).__name__})")
    answer = _read(access, reply.status_code, body, time.monotonic() - begun)
    return answer.model_copy(update={"status": reply.status_code})


async def _body(reply: httpx.Response) -> bytes | None:
    """The reply's body; None for one that is larger than any list."""
    pieces, size = [], 0
    async for piece in reply.aiter_bytes():
        pieces.append(piece)
        size += len(piece)
        if size > LARGEST_REPLY:
            return None
    return b"".join(pieces)


def _read(access: Access, status: int, body: bytes | None, seconds: float) -> Answer:
    """What a reply means. A 403 is no refusal of the key: keys may lack the right to list models and still work."""
    text = "" if body is None else body.decode("utf-8", "replace")
    told = one_line(Masker(_secrets(access))(_message(text)), SAID)
    if status == 401 or (status == 400 and classify(text[: 16 * SAID]) is FailureKind.AUTH):
        return _answer(access, Reach.KEY_REFUSED, told or "it refuses the key", seconds=seconds)
    if status != 200:
        said = f"it answered {status}{f': {told}' if told else ''}"
        if 300 <= status < 400:
            said = f"it answered {status}: it is somewhere else, and a key is not sent after it"
        return _answer(access, Reach.UNKNOWN, said, seconds=seconds)
    models, whole = _models(text)
    if models is None:
        said = "it answered with something other than a list of models (a page of a proxy's, perhaps)"
        return _answer(access, Reach.UNKNOWN, said, seconds=seconds)
    said = "its list is open to everybody: whether it takes the key is not known" if access.open_list else ""
    return _answer(access, Reach.REACHABLE, said, models=frozenset(models) if whole else None, seconds=seconds)


def _answer(access: Access, reach: Reach, said: str, **more: Any) -> Answer:
    return Answer(provider=access.provider, reach=reach, said=said, source=access.source, **more)


def _models(text: str) -> tuple[list[str] | None, bool]:
    """The ids of a list of models, and whether it is the whole list: OpenAI's and Anthropic's form, Google's, and a
    bare list."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None, False
    table = data if isinstance(data, dict) else {}
    entries = data if isinstance(data, list) else table.get("data", table.get("models"))
    if not isinstance(entries, list):
        return None, False
    named = (entry.get("id") or entry.get("name") for entry in entries if isinstance(entry, dict))
    whole = not table.get("has_more") and not table.get("nextPageToken")
    return [name.removeprefix("models/") for name in named if isinstance(name, str)], whole


def _message(text: str) -> str:
    """The provider's own words in an error: OpenAI's and Google's form, a bare message, else nothing."""
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    data = data[0] if isinstance(data, list) and data else data
    error = data.get("error", data) if isinstance(data, dict) else None
    said = error.get("message") if isinstance(error, dict) else error
    return said if isinstance(said, str) else ""


def _secrets(access: Access) -> Sequence[str]:
    return [part for value in access.headers.values() for part in (value, value.removeprefix("Bearer "))]
