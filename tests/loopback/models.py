"""The models of the loopback provider: how each name behaves."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from http import HTTPStatus

from tests.loopback.http import ProviderError, Reply

FOREVER = 3600.0
RATE_LIMIT = ProviderError(
    HTTPStatus.TOO_MANY_REQUESTS, "Rate limit reached for requests", "rate_limit_error", "rate_limit_exceeded"
)
OVERFLOW = ProviderError(
    HTTPStatus.BAD_REQUEST,
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 99999 tokens. "
    "Please reduce the length of the messages.",
    "invalid_request_error",
    "context_length_exceeded",
)
WRONG_KEY = ProviderError(
    HTTPStatus.UNAUTHORIZED, "Incorrect API key provided", "invalid_request_error", "invalid_api_key"
)
ERRORS = {
    "rl-forever": RATE_LIMIT,
    "rl-retryafter": replace(RATE_LIMIT, message="Rate limit reached, retry later", retry_after=3),
    "quota": ProviderError(
        HTTPStatus.TOO_MANY_REQUESTS,
        "You exceeded your current quota, please check your plan and billing details.",
        "insufficient_quota",
        "insufficient_quota",
    ),
    "s401": WRONG_KEY,
    "s404": ProviderError(HTTPStatus.NOT_FOUND, "The model does not exist", "invalid_request_error", "model_not_found"),
    "s500": ProviderError(
        HTTPStatus.INTERNAL_SERVER_ERROR, "The server had an error processing your request", "server_error"
    ),
    "s503": ProviderError(HTTPStatus.SERVICE_UNAVAILABLE, "The model is currently overloaded", "overloaded_error"),
    "overflow": OVERFLOW,
}
# name → the bash command it asks for, and what it says when it has seen the result
COMMANDS = {
    "edit": ("echo $ATOMIC_FLOWS_ATTEMPT >> notes.txt", "Edited."),
    "editsleep": ("echo half >> notes.txt; sleep 1000", "Done."),
    "toolcall": ("echo hi", "Tool said hi."),
    "sleeptool": ("sleep 1000", "Done sleep."),
    "failtool": ("echo oops >&2; exit 3", "failed."),
    "wrong": ("echo wrong > change.txt", "Changed it."),
    "right": ("echo right > change.txt", "Changed it."),
    "hugetool": ("head -c 1500000 /dev/zero | tr '\\0' 'A'", "Saw huge."),
}
TEXTS = {
    "ok": ("Hello", " from", " fake", " model."),
    "empty": (),
    "hugeanswer": ("B" * 1_200_000,),
}
WORK = "echo worked >> worked.txt"
# Escapes as they are in the provider's JSON, so that half a surrogate pair can be sent.
ODD_TEXT = (
    r"\u2028LS \u2029PS ", r"\ud83d\ude00 emoji ", r"\ud83d", r"\ude00 split-pair ", r"\ud800 lone ",
    r"\u0000 nul \u0085 nel ", r"\u001b[31mred\u001b[0m ",
)  # fmt: skip
ODD_ANSWER = (
    "\u2028LS \u2029PS 😀 emoji 😀 split-pair \ud800 lone \0 nul \x85 nel "
    "\x1b[31mred\x1b[0m raw\u2028ls \x85 😀 日本語 "
)  # as one text
NAMES = (
    *TEXTS, *ERRORS, *COMMANDS, "rl-twice", "rl-for-1", "overflow-once", "overflow-after-tool", "length",
    "filter", "second", "slow", "hang", "hangmid", "reset", "truncated", "badjson", "unicode", "count", "long100",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Turn:
    """What a model knows of the request that it answers."""

    model: str
    nth: int  # of this model's requests on this path, from 1
    first_at: float  # monotonic time of the first of them
    roles: tuple[str, ...]
    last_characters: int

    @property
    def saw_tool(self) -> bool:
        """Whether a tool's result is in the conversation."""
        return "tool" in self.roles

    @property
    def after_tool(self) -> bool:
        """Whether the last message is a tool's result: of an earlier model's, in a carried conversation, it is not."""
        return self.roles[-1:] == ("tool",)


async def answer(reply: Reply, turn: Turn) -> None:
    """Behave as the model's name says; 404 for an unknown one."""
    if (error := _error(turn)) is not None:
        await reply.error(error)
    elif turn.model in COMMANDS:
        command, after = COMMANDS[turn.model]
        await (reply.text(after) if turn.after_tool else reply.bash(command))
    elif turn.model in TEXTS:
        await reply.text(*TEXTS[turn.model])
    elif turn.model in ("hang", "hangmid", "reset", "truncated", "badjson", "unicode"):
        await _odd_stream(reply, turn.model)
    else:
        await _whole(reply, turn)


def _error(turn: Turn) -> ProviderError | None:
    """The error that this request gets, if any."""
    match turn.model.split("-"):
        case ["rl", "twice"] if turn.nth <= 2:
            return RATE_LIMIT
        case ["rl", "for", seconds] if (left := turn.first_at + int(seconds) - time.monotonic()) > 0:
            return replace(RATE_LIMIT, retry_after=int(left) + 1)
        case ["overflow", "once"] if turn.nth == 1:
            return OVERFLOW
        case ["overflow", "after", "tool"] if turn.saw_tool:
            return OVERFLOW
        case _ if turn.model not in NAMES and not turn.model.startswith(("long", "rl-for-")):
            message = f"unknown model {turn.model}"
            return ProviderError(HTTPStatus.NOT_FOUND, message, "invalid_request_error", "model_not_found")
        case _:
            return ERRORS.get(turn.model)


async def _whole(reply: Reply, turn: Turn) -> None:
    match turn.model:
        case "overflow-once":
            await reply.text("Recovered after compaction.")
        case "overflow-after-tool":
            await reply.bash(WORK)
        case "length":
            await reply.text("cut off", reason="length")
        case "filter":
            await reply.text("some", reason="content_filter")
        case "second":
            await reply.text(*(f"s{i} " for i in range(5)), pause=0.2)
        case "slow":
            await reply.text(*(f"s{i} " for i in range(100)), pause=0.2)
        case "count":
            await reply.text(str(turn.last_characters))
        case _ if turn.model.startswith("long"):
            await reply.text(*(f"word{i:05d} " for i in range(int(turn.model.removeprefix("long")))))
        case _:
            await reply.text("Recovered.")


async def _odd_stream(reply: Reply, model: str) -> None:
    if model != "hang":
        await reply.open()
    match model:
        case "hang":
            await asyncio.sleep(FOREVER)
        case "hangmid":
            await reply.delta({"content": "partial"})
            await asyncio.sleep(FOREVER)
        case "badjson":
            await reply.delta({"content": "good "})
            await reply.raw(b'{"id":"x","choices":[{"delta":{"content":"bro')
            await reply.finish()
        case "unicode":
            for text in ODD_TEXT:
                await reply.raw(
                    b'{"id":"c","object":"chat.completion.chunk","created":1,"model":"unicode","choices":'
                    b'[{"index":0,"delta":{"content":"%s"},"finish_reason":null}]}' % text.encode()
                )
            await reply.delta({"content": "raw\u2028ls \u0085 😀 日本語 "})
            await reply.finish()
        case _:
            await reply.delta({"content": "partial "})
            await reply.delta({"content": "answer "})
            if model == "truncated":
                await reply.end()
            else:
                await asyncio.sleep(0.2)
                reply.reset()
