"""Items on their way into the database and out of it again: rows to load, runs to carry out."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from atomic.errors import PromptError, UsageError
from atomic.record.files import encode
from atomic.runner import RunRequest
from atomic.runner.prompt import read_prompt
from flows.batch.facts import BatchRequest
from flows.database import ClaimedItem, Edition, ItemRow
from flows.inputs import Choice, Item, read_items


@dataclass(frozen=True, slots=True)
class Ready:
    """An item that may begin now; its first session is with ``provider``."""

    item: ClaimedItem
    run: RunRequest
    provider: str | None = None


def rows_of(request: BatchRequest) -> Iterator[ItemRow]:
    """The rows of the batch's input, one after the other. Raises UsageError where it is no longer what was checked."""
    checked, template = request.checked, request.checked.template
    flags = flags_of(request.form)
    found = 0
    for item in read_items(
        checked.path,
        template=None if template is None else template.path,
        format=checked.format,
        slash=request.slash,
    ):
        if not isinstance(item, Item):
            raise changed(request)
        try:
            digest = item.digest(cwd=request.form.cwd, agent=flags)
        except OSError as error:
            raise changed(request) from error
        found += 1
        yield ItemRow(item.custom_id, digest, source_of(item))
    if found != checked.count or checked.changed():
        raise changed(request)


def origin_of(request: BatchRequest) -> str:
    """The fingerprint of all that the batch's rows are made of; empty where prompts are files of their own, which may
    change by themselves. It is of bytes that have just been read: no file's time is trusted."""
    checked = request.checked
    if checked.files or checked.fingerprint is None:
        return ""
    parts = (
        version("atomic-flows"),  # another one may make other rows of the same bytes
        checked.format,
        checked.fingerprint.sha256,
        "" if checked.template is None else checked.template.sha256,
        os.path.abspath(checked.path.parent),  # noqa: PTH100 - as `rules_of` has it: items' folders are relative to it
        str(request.form.cwd),
        *flags_of(request.form),
    )
    return hashlib.sha256(encode(parts)).hexdigest()


def changed(request: BatchRequest) -> UsageError:
    """The error for an input that is no longer what was checked."""
    return UsageError(
        f"{request.checked.path} changed while the batch began; nothing was started",
        hint="give the same command again when it is written",
        path=str(request.checked.path),
    )


def flags_of(form: RunRequest) -> tuple[str, ...]:
    """What of the agent's call is part of an item's digest: another program may be the same agent, other flags are
    another question."""
    approve = {None: (), True: ("--approve",), False: ("--no-approve",)}[form.agent.approve]
    return (*approve, *form.agent.args)


def source_of(item: Item) -> str:
    """An item as the database keeps it."""
    said = {
        "prompt": item.prompt,
        "prompt_file": None if item.prompt_file is None else str(item.prompt_file),
        "policy": item.policy,
        "models": item.models,
        "cwd": None if item.cwd is None else str(item.cwd),
        "workspace": item.workspace,
        "tags": item.tags,
        "metadata": dict(item.metadata),
    }
    return encode({name: value for name, value in said.items() if value}).decode()


def item_of(claimed: ClaimedItem) -> Item:
    """The item that was kept so."""
    said = json.loads(claimed.source)
    return Item(
        custom_id=claimed.custom_id,
        prompt=said.get("prompt"),
        prompt_file=Path(said["prompt_file"]) if "prompt_file" in said else None,
        policy=said.get("policy"),
        models=tuple(said.get("models", ())),
        cwd=Path(said["cwd"]) if "cwd" in said else None,
        workspace=said.get("workspace"),
        tags=tuple(said.get("tags", ())),
        metadata=said.get("metadata", {}),
    )


def choice_of(item: Item) -> Choice:
    """What an item says of how it is run."""
    return Choice(item.policy, item.models)


def run_of(request: BatchRequest, edition: Edition, claimed: ClaimedItem, item: Item) -> RunRequest:
    """The run of a claimed item. Raises PromptError, and nothing is spent, where its prompt's file or its folder is no
    longer what it was when the edition was loaded; WorkspaceError where it has no repository any more."""
    try:
        digest = item.digest(cwd=request.form.cwd, agent=flags_of(request.form))
        prompt = item.prompt_bytes()
    except OSError as error:
        raise PromptError(f"its prompt cannot be read: {error}", reason="gone") from error
    if digest != claimed.digest:
        raise PromptError(
            f"{item.prompt_file} changed since the edition was loaded",
            hint="give the same command again: changed prompts run again",
            reason="changed",
        )
    cwd = item.cwd or request.form.cwd
    if not cwd.is_dir():
        raise PromptError(f"its folder {cwd} has gone", reason="gone")
    return replace(
        request.form,
        prompt=read_prompt(prompt, slash=request.slash),
        policy=request.policies[choice_of(item)],
        cwd=cwd,
        workspace=request.plan(item.cwd, item.workspace),
        key=claimed.key,
        tags=(*request.form.tags, *item.tags),
        metadata={**request.form.metadata, **item.metadata},
        batch=edition.batch,
        edition=edition.name,
        custom_id=claimed.custom_id,
        wait_until=float("inf") if request.asked.deadline is None else request.asked.deadline,
    )
