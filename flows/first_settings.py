"""A first settings file: what is there to work with, and the commented file that says so. No key is ever in it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from atomic.agent import Agent
from atomic.errors import AgentNotFound, ModelRefError
from atomic.models import ModelRef
from atomic.policy import FallbackPolicy
from atomic.providers import PROVIDERS, Credentials
from atomic.settings import RecordSettings
from atomic.text import one_line
from flows.agent_output import models_in, printed
from flows.doctor import default_model

_TOLD = 1000  # characters of a comment
MOST_MODELS = 4  # of a first policy: a ladder that is longer hides what it costs
EXAMPLES = ("anthropic/claude-opus-4-5:high", "openai/gpt-5.2", "google/gemini-2.5-pro")


@dataclass(frozen=True, slots=True)
class Found:
    """What there is to work with. ``sources`` says for each provider where its credential is; ``agent`` is the
    resolved one, None where there is none (``problem`` says why)."""

    agent: Agent | None = None
    problem: str | None = None
    sources: Mapping[str, str] | None = None
    models: tuple[ModelRef, ...] = ()


def look(agent: Agent) -> Found:
    """Find the agent, the credentials it would use, and a model for each. Asks no provider; starts the agent once, for
    the list of its models."""
    credentials = Credentials.of(agent)
    accesses = {name: credentials.access(name) for name in credentials.names()}
    sources = {
        name: access.source or "no key" for name, access in accesses.items() if _usable(access.state, access.source)
    }
    try:
        found = agent.resolve()
    except AgentNotFound as error:
        return Found(None, error.message, sources, choose_models(sources, credentials.providers, None))
    if found.scripted:
        return Found(found, None, {}, (ModelRef("scripted", "overflow"), ModelRef("other", "ok")))
    said = printed(found, "--list-models")
    listed = models_in(said.text) if said.problem is None else None
    models = choose_models(sources, credentials.providers, listed or None, default_model(found))
    return Found(found, said.problem, sources, models)


def choose_models(
    sources: Iterable[str],
    declared: Mapping[str, Mapping[str, object]],
    listed: Sequence[ModelRef] | None,
    default: ModelRef | None = None,
) -> tuple[ModelRef, ...]:
    """A model for each provider that can be used: the agent's own default first, then the providers in order. Only
    models that the agent lists, where it lists any (``listed``)."""
    chosen = [default] if default is not None and (listed is None or default in listed) else []
    for name in sources:
        if all(model.provider != name for model in chosen):
            chosen += _first(name, declared.get(name, {}), listed)
    return tuple(chosen[:MOST_MODELS])


def _first(provider: str, declared: Mapping[str, object], listed: Sequence[ModelRef] | None) -> list[ModelRef]:
    fact = PROVIDERS.get(provider)
    models = declared.get("models")
    ids = [model.get("id") for model in models if isinstance(model, dict)] if isinstance(models, list) else []
    wanted = [ref for name in (*ids, *(fact.models if fact else ())) if (ref := _ref(provider, name)) is not None]
    if listed is None:
        return wanted[:1]
    there = [model for model in listed if model.provider == provider]
    # The last of a sorted list is mostly the newest.
    return [*(model for model in wanted if model in there), *reversed(there)][:1]


def _ref(provider: str, name: object) -> ModelRef | None:
    try:
        return ModelRef.parse(f"{provider}/{name}")
    except ModelRefError:
        return None


def _usable(state: str, source: str) -> bool:
    return state in ("key", "open") or (state == "untold" and bool(source))


def render(found: Found, command: Sequence[str] = ()) -> str:
    """The file. ``command``: the agent's, where it is not to be found on PATH."""
    models = [_quoted(str(model)) for model in found.models]
    named = f"models = [{', '.join(models)}]" if models else f"#models = [{', '.join(map(_quoted, EXAMPLES))}]"
    policy = FallbackPolicy()
    limits = policy.limits
    agent = f"command = [{', '.join(map(_quoted, command))}]" if command else '#command = ["pi"]'
    sources = found.sources or {}
    keys = ", ".join(f"{name} ({source})" for name, source in sources.items())
    told = f"Found when it was written: {_agent_line(found)}; credentials of {keys or 'nobody'}."
    return _TEMPLATE.format(
        found=f"# {one_line(told, _TOLD)}",
        models=named,
        example="" if models else " Example:",
        max_attempts=policy.max_attempts,
        max_wait=f"{policy.max_wait:g}",
        after_tools=_quoted(policy.after_tools),
        continue_prompt=_quoted(policy.continue_prompt),
        agent_head="[agent]" if command else "#[agent]",
        agent=agent,
        agent_example="" if command else "; example:",
        level=RecordSettings().level,
        **{name: f"{value:g}" for name, value in limits.model_dump().items()},
    )


def _agent_line(found: Found) -> str:
    if found.agent is None:
        return "no agent"
    version = found.agent.version
    return f"the agent {_quoted(shlex.join(found.agent.command))}{f' {version}' if version else ''}"


def _quoted(text: str) -> str:
    """A TOML string; JSON's rules for escapes are the same, but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


_TEMPLATE = """\
# Settings of atomic-flows.
#
# This file counts for the folder it is in and those below; ~/.atomic-flows/atomic-flows.toml counts for all of yours,
# with less weight; ATOMIC_FLOWS_... variables count most (ATOMIC_FLOWS_RECORD__FSYNC=false). To set what is behind #
# without a blank, take the # away: it is the default, which holds as it is, but where the comment above says "example",
# which holds only then. No keys belong here: the agent finds them by itself.
# `atomic-flows policy check` reads this file, `atomic-flows doctor` tries what it says.
#
{found}

[policy.default]
# provider/id or provider/id:level, in the order in which they are tried. Two of different providers are the least that
# lets a run go on when one of them is down. Without any, one attempt is made on the agent's own default model.{example}
{models}
# attempts of one run, all models together
#max_attempts = {max_attempts}
# seconds that a run may wait for rate limits to pass, in all
#max_wait = {max_wait}
# when an attempt fails after tools have run: "carry" its conversation to the next model, begin "fresh", or "stop"
#after_tools = {after_tools}
# what the next model is told when it goes on with another's conversation
#continue_prompt = {continue_prompt}

# What is done on a kind of failure: next, larger-window, other-provider, stop, accept, or {{ retry = 1, delay = 5,
# then = "next" }}. `atomic-flows policy show` lists every kind with what is done about it and why.
[policy.default.on]
#overflow = "larger-window"
#refusal = "stop"

# Seconds for which a model (of a quota and a bad key: everything behind that key) is left alone, where the provider did
# not say when to come back.
[policy.default.cooldown]
#rate_limit = 60
#quota = 3600

# Bounds of one session in seconds, 0 for none; tokens and dollars are those of the whole run.
[policy.default.limits]
# to the agent's first byte
#startup = {startup}
# silence while no tool runs
#idle = {idle}
# one tool
#tool = {tool}
# the whole session
#total = {total}
# a process that stays after its answer
#settle = {settle}
#turns = {turns}
#tokens = {tokens}
#cost_usd = {cost_usd}

# How the agent is called, the same way for every model. In a project's file this table counts only after
# `atomic-flows trust`, as do [record] and [prefect]: they decide what runs, and where data goes.
{agent_head}
# program and first arguments; by default `atomic`, else `pi`, as found on PATH{agent_example}
{agent}
# further arguments of each session
#args = []
# whether the agent may use this project's own settings, skills and AGENTS.md; left out: as it decides; example:
#approve = true
# processes that a tool left running when a session ends well: "kill" or "keep"; and names of some that may stay
#leftover = "kill"
#may_stay = []

#[record]
# a folder, or any URL that fsspec knows (s3://bucket/runs); by default `records` in ~/.atomic-flows; example:
#url = "/var/lib/atomic-flows/records"
# whether the end of a session is forced to the disk
#fsync = true
# how hard finished streams are compressed, 1 to 19
#level = {level}

#[prefect]
# auto: your Prefect server, else one of our own; local: our own; ephemeral: one for each command; direct: none
#mode = "auto"

# Window (tokens) and price (USD per million tokens) of a model that nobody else knows. Example:
#[model."ollama/my-model"]
#window = 32768
#price = {{ input = 0, output = 0 }}
"""
