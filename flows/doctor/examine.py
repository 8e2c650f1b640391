"""The whole examination: every check, whatever the others come to."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from atomic.agent import Agent
from atomic.errors import AtomicError, UsageError
from atomic.models import ModelRef
from atomic.models.agent_folder import agent_folder
from atomic.policy import FallbackPolicy
from atomic.providers import Credentials, ask_all
from atomic.regular import read_json
from atomic.runner import choose_policy
from atomic.settings import Settings, find_home, load_settings
from atomic.text import Masker, one_line
from flows.doctor import agent, locks, machine, places, policy, prefect, project
from flows.doctor.findings import Finding, fail, ok
from flows.doctor.providers import ABOUT as PROVIDERS
from flows.doctor.providers import judge_providers

SETTINGS = "settings"
Check = Callable[[], Sequence[Finding]]


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be examined. ``agent``, ``policy`` and ``models`` are as `run` takes them; None and empty: what the
    settings say."""

    cwd: Path = Path()
    config: Path | None = None
    agent: str | None = None
    policy: str | None = None
    models: tuple[str, ...] = ()


async def examine(asked: Asked) -> list[Finding]:
    """Everything that could keep a run from going well, in the order in which it should be put right. What
    cannot be looked at is a finding. Raises UsageError for the text of an agent that cannot be read."""
    findings, settings = read_settings(asked)
    program = _agent(asked, settings)
    chosen = None if settings is None else _policy(asked, settings)
    checks: list[tuple[str, Check]] = [(agent.ABOUT, lambda: agent.check_agent(program))]
    if settings is not None and chosen is not None:
        own, meant = settings, chosen
        checks += [
            (policy.ABOUT, lambda: policy.check_policy(meant, program, own)),
            (places.ABOUT, lambda: places.check_places(own)),
            (prefect.ABOUT, lambda: prefect.check_prefect(own)),
        ]
    checks.append((places.ABOUT, lambda: places.check_work_folder(asked.cwd)))
    if not program.scripted:
        checks += [
            (places.ABOUT, lambda: places.check_agent_folder(program)),
            (locks.ABOUT, lambda: locks.check_locks(program)),
            (project.ABOUT, lambda: project.check_project(program, asked.cwd)),
        ]
    checks.append((machine.ABOUT, machine.check_machine))
    waiting = [_guarded(about, asyncio.to_thread(check)) for about, check in checks]
    if isinstance(chosen, FallbackPolicy) and not program.scripted:
        waiting.append(_guarded(PROVIDERS, _ask_providers(chosen.models, program)))
    for found in await asyncio.gather(*waiting):
        findings += found
    return findings


def read_settings(asked: Asked) -> tuple[list[Finding], Settings | None]:
    """The settings that hold, and what there is to say of them. Where they cannot be read, the defaults stand in, so
    that all else can be looked at; None where not even a home is known."""
    try:
        settings = load_settings(asked.cwd, asked.config)
    except (AtomicError, OSError) as error:
        findings = [_unreadable(error)]
    else:
        files = ", ".join(map(str, settings.sources)) or "no file: the defaults hold"
        return [ok(SETTINGS, files)], settings
    try:
        return findings, Settings(home=find_home())
    except (AtomicError, OSError):
        return findings, None


def _unreadable(error: AtomicError | OSError) -> Finding:
    if isinstance(error, AtomicError):
        return fail(SETTINGS, error.message, error.hint or "put that line right")
    where = f"{error.filename}: " if error.filename else ""
    return fail(SETTINGS, f"{where}{(error.strerror or str(error)).lower()}", "see that it can be read")


def _agent(asked: Asked, settings: Settings | None) -> Agent:
    own = settings.agent.agent() if settings is not None else Agent()
    if asked.agent is None:
        return own
    return replace(own, command=Agent.parse(asked.agent).command)


def _policy(asked: Asked, settings: Settings) -> FallbackPolicy | UsageError:
    try:
        return choose_policy(asked.policy, asked.models, settings)
    except UsageError as error:
        return error


async def _ask_providers(models: Sequence[ModelRef], program: Agent) -> list[Finding]:
    if not models:
        own = default_model(program)
        if own is None:
            said = "the policy names no model: a run makes one attempt on the agent's own default, which nobody asked"
            return [ok(PROVIDERS, said)]
        models = (own,)
    credentials = await asyncio.to_thread(Credentials.of, program)
    accesses = [credentials.access(name) for name in dict.fromkeys(model.provider for model in models)]
    answers = await ask_all(accesses)
    return judge_providers(models, list(zip(accesses, answers, strict=True)))


def default_model(program: Agent) -> ModelRef | None:
    """The model that the agent's own settings name; None where they name none."""
    file = agent_folder(program.env, program.command) / "settings.json"
    try:
        data = read_json(file)
        return ModelRef.parse(f"{data['defaultProvider']}/{data['defaultModel']}")
    except (OSError, ValueError, TypeError, KeyError, UsageError):
        return None


async def _guarded(about: str, check: Awaitable[Sequence[Finding]]) -> Sequence[Finding]:
    """The findings of a check; one that breaks is a finding too, and keeps no other from being made."""
    try:
        return await check
    except AtomicError as error:
        return [fail(about, error.message, error.hint)]
    except Exception as error:  # noqa: BLE001 - the doctor is asked when things are broken
        said = one_line(Masker.of(os.environ)(f"{type(error).__name__}: {error}"))
        return [fail(about, f"could not be looked at: {said}", "this is a fault of atomic-flows: please report it")]
