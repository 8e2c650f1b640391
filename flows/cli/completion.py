"""What the shell may complete: runs, models, policies. It never asks anybody but the disk, and never fails aloud."""

from __future__ import annotations

import contextlib
import glob
import itertools
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path

Pairs = Iterator[tuple[str, str]]  # what may be written, and what tells it from the others

MOST = 30  # of what a person would look through
_MARKUP = str.maketrans("[]", "()")  # Typer takes what is told beside a completion for Rich's markup


def _silent(complete: Callable[[str], Pairs]) -> Callable[[str], list[tuple[str, str]]]:
    """Whatever is wrong with settings or records is told by the commands; here it would end up in somebody's prompt."""

    @wraps(complete)
    def completed(incomplete: str) -> list[tuple[str, str]]:
        from atomic.text import one_line

        found: list[tuple[str, str]] = []
        with contextlib.suppress(Exception):
            for word, told in itertools.islice(complete(incomplete), MOST):
                if word.isprintable():
                    found.append((word, one_line(told, 60).translate(_MARKUP)))
        return found

    return completed


@_silent
def runs(incomplete: str) -> Pairs:
    """Ids of the newest runs."""
    return _runs(incomplete)


@_silent
def streams(incomplete: str) -> Pairs:
    """Files, and runs."""
    for name in sorted(glob.glob(f"{glob.escape(incomplete)}*")) if incomplete else ():  # noqa: PTH207 - keeps "./"
        yield (f"{name}/", "folder") if Path(name).is_dir() else (name, "file")
    yield from _runs(incomplete)


@_silent
def models(incomplete: str) -> Pairs:
    """Models of the policies and of the agent's models.json."""
    from atomic.models.agent_folder import agent_folder, read_agent_models
    from atomic.policy import resolve_policies
    from atomic.settings import load_settings

    settings = load_settings()
    agent = settings.agent.agent()
    known = dict.fromkeys(read_agent_models(agent_folder(agent.env, agent.command)), "models.json")
    for name, policy in resolve_policies(settings.policies).items():
        known |= {str(model): f"policy {name}" for model in policy.models}
    yield from (pair for pair in known.items() if pair[0].startswith(incomplete))


@_silent
def policies(incomplete: str) -> Pairs:
    """Policies of the settings."""
    from atomic.policy import resolve_policies
    from atomic.settings import load_settings

    for name, policy in resolve_policies(load_settings().policies).items():
        if name.startswith(incomplete):
            yield name, " → ".join(map(str, policy.models))


def _runs(incomplete: str) -> Pairs:
    from atomic.errors import RecordError
    from atomic.runner import open_store
    from atomic.settings import load_settings

    store = open_store(load_settings())
    if incomplete and "latest".startswith(incomplete):
        yield "latest", "the newest run"
    for run_id in itertools.islice(store.ids(incomplete), MOST):
        told = "damaged"
        with contextlib.suppress(RecordError):
            run = store.read(run_id)
            told = f"{run.kind or run.status} {run.name or run.answered_by or ''}"
        yield run_id, told
