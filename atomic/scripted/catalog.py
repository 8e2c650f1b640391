"""The catalog of behaviours: what each name does, and how a model's name is read as one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from atomic.scripted.agent import Agent
from atomic.scripted.behaviours import answers, endings, failures, overflow, working
from atomic.scripted.wire import Style

Play = Callable[[Agent, int], int | None]  # returns the exit code, where it is not the agent's own rule
ANSWERED = "answered"


class Behaviour(NamedTuple):
    """What a name stands for."""

    play: Play
    comes_to: str  # "answered", or the kind of failure that a reader should find
    description: str
    parameter: int | None = None  # the default of the number that may follow the name; None: it takes none


class Modifier(NamedTuple):
    """A habit of another client, added to a name."""

    apply: Callable[[Style], Style]
    description: str


class Part(NamedTuple):
    """A model's name, read."""

    behaviour: Behaviour
    parameter: int
    style: Style


BEHAVIOURS: Mapping[str, Behaviour] = MappingProxyType(
    {
        "ok": Behaviour(answers.ok, ANSWERED, "answers"),
        "echo": Behaviour(answers.echo, ANSWERED, "answers with the prompt, after the conversation it goes on with"),
        "json": Behaviour(answers.json_object, ANSWERED, "answers with a JSON object, `model` and `risks`"),
        "inspect": Behaviour(answers.inspect, ANSWERED, "answers with its arguments, folder and variables' names"),
        "thinking": Behaviour(answers.thinking, ANSWERED, "thinks, then answers"),
        "slow": Behaviour(answers.slow, ANSWERED, "answers in N words, ten a second", 50),
        "huge": Behaviour(answers.huge, ANSWERED, "answers with N MiB", 2),
        "unicode": Behaviour(answers.odd_unicode, ANSWERED, "answers with line separators, lone surrogates, NUL, ANSI"),
        "hostile": Behaviour(answers.hostile, ANSWERED, "answers with markup, remote images and terminal codes"),
        "hostile-error": Behaviour(answers.hostile_error, "unknown", "fails with markup and terminal codes"),
        "noisy": Behaviour(answers.noisy, ANSWERED, "answers between lines of noise, and floods stderr"),
        "wrong-exit": Behaviour(answers.wrong_exit, ANSWERED, "answers, then exits with code N", 1),
        "expensive": Behaviour(answers.expensive, ANSWERED, "answers for N dollars, half a dollar a second", 5),
        "inner-fallback": Behaviour(answers.inner_fallback, ANSWERED, "the agent itself moves on to the model `ok`"),
        "tool": Behaviour(working.tool, ANSWERED, "runs a short command, then answers"),
        "edit": Behaviour(working.edit, ANSWERED, "adds its name to worked.txt, then answers"),
        "tool-fails": Behaviour(working.tool_fails, ANSWERED, "runs a command that fails, then answers"),
        "tool-overflow": Behaviour(overflow.tool_overflow, "overflow", "adds a line to worked.txt, then overflows"),
        "huge-tool": Behaviour(working.huge_tool, ANSWERED, "runs a command that prints N MiB, then answers", 2),
        "sleep-tool": Behaviour(working.sleep_tool, "stalled", "runs `sleep 1000`, which outlives a killed agent"),
        "ending-tool": Behaviour(working.ending_tool, ANSWERED, "a tool's result ends the prompt"),
        "turns": Behaviour(working.turns, ANSWERED, "answers in N turns, all but the last with a tool", 10),
        "overflow": Behaviour(overflow.overflow, "overflow", "overflows, compacts, overflows for good"),
        "overflow-unflagged": Behaviour(overflow.overflow_unflagged, "overflow", "overflows with compaction off"),
        "overflow-compacting": Behaviour(overflow.overflow_compacting, "overflow", "ends as it begins to compact"),
        "overflow-once": Behaviour(overflow.overflow_once, ANSWERED, "overflows, compacts, answers"),
        "overflow-with-answer": Behaviour(overflow.overflow_with_answer, "overflow", "answers, then overflows"),
        "degraded": Behaviour(overflow.degraded, ANSWERED, "overflows, throws its context away, answers"),
        "output-limit": Behaviour(overflow.output_limit, "output_limit", "is cut off by the output limit, twice"),
        "length-continued": Behaviour(overflow.length_continued, ANSWERED, "is cut off once and goes on"),
        "rate-limit": Behaviour(failures.rate_limit, "rate_limit", "hits a rate limit, also on its retries"),
        "rate-limit-retry-after": Behaviour(
            failures.rate_limit_retry_after,
            "rate_limit",
            "the same, and says to try again in N seconds",
            failures.TRY_AGAIN_SECONDS,
        ),
        "rate-limit-once": Behaviour(failures.rate_limit_once, ANSWERED, "hits a rate limit, retries, answers"),
        "quota": Behaviour(failures.quota, "quota", "has spent its quota; with N says to try again in N seconds", 0),
        "auth": Behaviour(failures.auth, "auth", "its key is refused"),
        "missing-key": Behaviour(failures.missing_key, "auth", "has no key: the header, and a text on stderr"),
        "model-unavailable": Behaviour(failures.model_unavailable, "model_unavailable", "the provider lacks the model"),
        "unknown-provider": Behaviour(
            failures.unknown_provider, "model_unavailable", "the agent does not know the provider: a text on stderr"
        ),
        "provider-unavailable": Behaviour(failures.provider_unavailable, "provider_unavailable", "it is overloaded"),
        "network": Behaviour(failures.network, "network", "the connection breaks in mid-answer, also on its retries"),
        "invalid-request": Behaviour(failures.invalid_request, "invalid_request", "the provider refuses the request"),
        "refusal": Behaviour(failures.refusal, "refusal", "the provider's filter cuts in"),
        "empty": Behaviour(answers.empty, "empty", "answers with nothing"),
        "aborted": Behaviour(failures.aborted, "aborted", "the request is aborted"),
        "unknown": Behaviour(failures.unknown, "unknown", "fails with an error that nobody has seen before"),
        "stalled": Behaviour(endings.stalled, "stalled", "goes silent in mid-answer"),
        "stalled-start": Behaviour(endings.stalled_start, "stalled", "never writes a byte"),
        "timeout": Behaviour(endings.endless, "timeout", "writes for ever"),
        "stubborn": Behaviour(endings.stubborn, "timeout", "writes for ever, and only SIGKILL ends it"),
        "crashed": Behaviour(endings.crashed, "crashed", "is killed in mid-answer"),
        "interrupted": Behaviour(endings.interrupted, "crashed", "is ended by SIGINT in mid-answer"),
        "flaky": Behaviour(
            endings.flaky,
            ANSWERED,
            f"crashes on its first N starts with a prompt (counted in ${endings.STATE_VARIABLE}), then answers",
            1,
        ),
        "never-exits": Behaviour(endings.never_exits, ANSWERED, "answers, and its process stays"),
        "leaves-child": Behaviour(endings.leaves_child, ANSWERED, "answers, and a `sleep 1000` of its tool stays"),
        "unreadable": Behaviour(endings.unreadable, "unreadable", "speaks another protocol"),
        "configuration": Behaviour(endings.configuration, "configuration", "refuses to start: a text on stderr"),
    }
)

MODIFIERS: Mapping[str, Modifier] = MappingProxyType(
    {
        "cumulative": Modifier(
            lambda style: style._replace(form="cumulative"), "each update repeats the whole message, as in pi 0.73.1"
        ),
        "delta": Modifier(lambda style: style._replace(form="delta"), "updates carry nothing but the delta"),
        "unsettled": Modifier(
            lambda style: style._replace(settles=False), "agent_settled is never said, as in pi 0.73.1"
        ),
        "pi": Modifier(lambda style: style._replace(failure_exit=0), "exits 0 whatever the provider said, as pi does"),
    }
)


def read_name(name: str) -> Part | None:
    """Read a model's name: `name[-N][-modifier]…`. None: no such behaviour."""
    style = Style()
    words = name.split("-")
    while words and (modifier := MODIFIERS.get(words[-1])):
        style = modifier.apply(style)
        words.pop()
    if behaviour := BEHAVIOURS.get("-".join(words)):
        return Part(behaviour, behaviour.parameter or 0, style)
    behaviour = BEHAVIOURS.get("-".join(words[:-1]))
    if behaviour is None or behaviour.parameter is None or not words[-1].isdecimal():
        return None
    return Part(behaviour, int(words[-1]), style)


UNKNOWN = Part(Behaviour(failures.unknown_model, "model_unavailable", "no such model"), 0, Style())


def listing() -> str:
    """All names with what they come to and do, one a line, then the modifiers."""
    rows = [
        (name if behaviour.parameter is None else f"{name}[-N]", behaviour.comes_to, _described(behaviour))
        for name, behaviour in BEHAVIOURS.items()
    ]
    wide, middle = (max(len(row[column]) for row in rows) + 2 for column in (0, 1))
    lines = [f"{name:<{wide}}{comes_to:<{middle}}{text}" for name, comes_to, text in rows]
    lines += ["", "Any of these may follow, for another client's habits:"]
    lines += [f"{'-' + name:<{wide}}{modifier.description}" for name, modifier in MODIFIERS.items()]
    return "\n".join(lines)


def _described(behaviour: Behaviour) -> str:
    return f"{behaviour.description} (N: {behaviour.parameter})" if behaviour.parameter else behaviour.description
