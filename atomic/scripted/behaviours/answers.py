"""Answers: plain ones, odd ones, and those that come in odd ways."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from atomic.scripted.agent import Agent
from atomic.scripted.behaviours.failures import rate_limit_text
from atomic.scripted.usage import OUTPUT_PRICE

SLOW_PAUSE = 0.1
PIECE = 1 << 16  # characters a delta of a huge answer
MEGABYTE = 1 << 20
CENT_TOKENS = round(0.01 / OUTPUT_PRICE)
CENT_PAUSE = 0.02
NOISE_BYTES = 1 << 18  # more than any pipe holds

GREETING = ("Hello", " from", " a scripted", " agent.")
# Line separators, a lone surrogate, a pair in two pieces, NUL and friends, colours.
UNICODE = (
    "\u2028LS \u2029PS ", "😀 emoji ", "\ud83d", "\ude00 split-pair ", "\ud800 lone ", "\0 nul \x85 nel ",
    "\x1b[31mred\x1b[0m ", "日本語 ",
)  # fmt: skip
HOSTILE = (
    "<script>alert(1)</script> ![pixel](https://example.invalid/p.png?leak) [click](javascript:alert(1)) "
    "<img src=x onerror=alert(1)> | a | b |\n```\n# heading\n[bold red]rich[/] \x1b]0;title\x07\x1b[2J\x1b[31m "
    '=HYPERLINK("https://example.invalid")\n'
)


def ok(agent: Agent, _: int) -> None:
    agent.begin()
    agent.answer(*GREETING)


def json_object(agent: Agent, _: int) -> None:
    agent.begin()
    agent.answer("```json\n", json.dumps({"model": agent.model, "risks": ["none"]}), "\n```")


def echo(agent: Agent, _: int) -> None:
    agent.begin()
    earlier = [f"[{message['role']}] {_text(message)}\n" for message in agent.session.history]
    agent.answer(*earlier, agent.prompt)


def inspect(agent: Agent, _: int) -> None:
    agent.begin()
    seen = {"argv": sys.argv[1:], "cwd": str(Path.cwd()), "environment": sorted(os.environ)}
    agent.answer(json.dumps(seen, indent=1))


def thinking(agent: Agent, _: int) -> None:
    agent.begin()
    agent.answer("Forty-two.", thinking="What would be a good answer?")


def slow(agent: Agent, words: int) -> None:
    agent.begin()
    agent.answer(*(f"word{n} " for n in range(words)), pause=SLOW_PAUSE)


def huge(agent: Agent, megabytes: int) -> None:
    agent.begin()
    agent.answer(*["B" * PIECE] * (megabytes * MEGABYTE // PIECE))


def odd_unicode(agent: Agent, _: int) -> None:
    agent.begin()
    agent.answer(*UNICODE)


def hostile(agent: Agent, _: int) -> None:
    agent.begin()
    agent.answer(HOSTILE)


def hostile_error(agent: Agent, _: int) -> None:
    agent.begin()
    agent.fail(HOSTILE)
    agent.settle()


def noisy(agent: Agent, _: int) -> None:
    sys.stderr.write("warning: something is deprecated\n" * (NOISE_BYTES // 32))
    agent.wire.raw(b"[debug] a hook talks on stdout\n")
    agent.begin()
    agent.wire.raw(b'\n42\n["not", "an object"]\n\xff\xfe not text\n')
    agent.answer(*GREETING)
    agent.wire.raw(b"Done in 0.1s.\n")


def empty(agent: Agent, _: int) -> None:
    agent.begin()
    agent.answer()


def wrong_exit(agent: Agent, code: int) -> int:
    agent.begin()
    agent.answer(*GREETING)
    return code


def expensive(agent: Agent, dollars: int) -> None:
    agent.begin()
    agent.answer(*["ka-ching "] * (dollars * 100), pause=CENT_PAUSE, piece_tokens=CENT_TOKENS)


def inner_fallback(agent: Agent, _: int) -> None:
    agent.begin()
    first, second, error = agent.model, "ok", rate_limit_text()
    names = {model: f"{agent.provider}/{model}" for model in (first, second)}
    agent.fail(error)
    agent.wire.emit("model_fallback_start", **{"from": names[first]}, to=names[second], reason=error, attempt=1)
    agent.model = second
    agent.wire.emit("model_changed", model={"id": second, "provider": agent.provider}, source="fallback")
    agent.begin_run()
    agent.say("The inner ", "fallback answers.")
    agent.end_turn()
    agent.model = first
    agent.wire.emit("model_changed", model={"id": first, "provider": agent.provider}, source="restore")
    agent.wire.emit("model_fallback_end", success=True, **{"from": names[second]}, to=names[first])
    agent.end_run()
    agent.settle()


def _text(message: dict[str, object]) -> str:
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return "".join(str(block.get("text", "")) for block in blocks if isinstance(block, dict))
