"""A flow run's parameters: plain data that Prefect shows and lists, and can start the run with again. Nothing in them
is secret, and nothing long."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from atomic.agent import masked
from atomic.policy import FallbackPolicy
from atomic.record import RunStore
from atomic.record.files import make_folder, write_file
from atomic.runner import RunRequest
from atomic.session import masker_for
from atomic.text import Masker

PARAMETER_LIMIT = 64 * 1024  # bytes of a prompt that Prefect is given; it refuses 512 KiB, and lists parameters whole
PROMPTS = "prompts"  # in the home: prompts above the limit, by their sha256, so that a run can be started again


def parameters_of(
    request: RunRequest, store: RunStore, given: Mapping[str, Any], config: str | Path | None
) -> dict[str, Any]:
    """The parameters that stand for a request. ``given`` is what the caller said of policy, models, agent, slash,
    workspace and shared."""
    masker = masker_for(request.agent)
    policy, agent = given.get("policy"), given.get("agent")
    plain = {
        "policy": policy.model_dump(mode="json") if isinstance(policy, FallbackPolicy) else policy,
        "models": [str(model) for model in given.get("models", ())] or None,
        "name": request.name,
        "tags": list(request.tags) or None,
        "metadata": dict(request.metadata) or None,
    }
    return {
        **_prompt(request, store, masker),
        **{name: without_secrets(value, masker) for name, value in plain.items()},
        "agent": shown_command(agent, masker) if isinstance(agent, str) else None,
        "cwd": str(request.cwd),
        "key": request.key,
        "slash": given.get("slash", False),
        "workspace": given.get("workspace"),
        "shared": given.get("shared"),
        "config": None if config is None else str(Path(config).absolute()),
    }


def _prompt(request: RunRequest, store: RunStore, masker: Masker) -> dict[str, Any]:
    """The prompt itself, or the file that holds one that is long or holds a secret."""
    prompt = request.prompt if store.redact is None else masker.raw(request.prompt)
    if len(prompt) <= PARAMETER_LIMIT and masker.raw(prompt) == prompt:
        return {"prompt": prompt.decode()}
    folder = store.home / PROMPTS
    path = folder / f"{hashlib.sha256(prompt).hexdigest()}.md"
    if not path.exists():
        make_folder(folder)
        write_file(path, prompt)
    return {"prompt_file": str(path)}


def without_secrets(value: Any, masker: Masker) -> Any:
    """Plain data without secrets; keys are names, and stay."""
    if isinstance(value, str):
        return masker.data(value)
    if isinstance(value, Mapping):
        return {key: without_secrets(item, masker) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_secrets(item, masker) for item in value]
    return value


def shown_command(agent: str, masker: Masker) -> str:
    """The agent's command line without secrets."""
    parts = shlex.split(agent)
    shown = masked(parts, masker)
    return agent if shown == tuple(parts) else shlex.join(shown)
