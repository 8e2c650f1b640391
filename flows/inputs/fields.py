"""From the fields of a row to an item: types, ids, prompts, policies, models and folders, all looked at."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

import orjson

from atomic.errors import ModelRefError, PlaceError, PromptError
from atomic.models import ModelRef
from atomic.runner.prepare import DEFAULT_POLICY
from atomic.runner.prompt import read_prompt
from atomic.settings import WorkspaceMode
from atomic.settings.problems import FOUND, nearest
from flows.inputs.facts import Item, Problem, Read, Row, Rules

IDS = ("custom_id", "id")  # two names of the same field
PROMPT_FIELDS = ("prompt", "prompt_file")
DEFAULT_FIELDS = ("policy", "models", "cwd", "workspace", "tags", "metadata")  # what can be the same for many items
FIELDS = (*IDS, *PROMPT_FIELDS, *DEFAULT_FIELDS)
_KNOWN = frozenset(FIELDS)
LONGEST_ID = 512  # characters; ids are keys of the database and of results, not texts

Complain = Callable[..., None]  # (field, message, nearest)


@dataclass(frozen=True, slots=True)
class Rendered:
    """What a template made of a row: a prompt, or why not (``name``: the variable that is not there). Neither, when
    the template was given up before this row."""

    prompt: str | None = None
    message: str | None = None
    name: str | None = None


def read_row(row: Row, rules: Rules, rendered: Rendered | None = None) -> Read:
    """The item that a row means, or everything that is wrong with it. ``rendered``, with a template, is its prompt."""
    problems: list[Problem] = []

    def complain(field: str | None, message: str, near: str | None = None) -> None:
        problems.append(rules.problem(row.line, field, message, near))

    fields = {name: value for name, value in row.fields.items() if value is not None}  # null says nothing
    if not rules.templated and not row.fields.keys() <= _KNOWN:
        problems += [unknown_field(rules, row.line, name) for name in row.fields if name not in _KNOWN]
    custom_id = _custom_id(fields, row.name, complain)
    file = None
    if rendered is None:
        prompt, file = _given_prompt(fields, rules, complain)
    else:
        prompt = rendered.prompt
        if rendered.message is not None:
            near = nearest(rendered.name, row.fields) if rendered.name else None
            complain(rendered.name, rendered.message, near)
        if prompt is not None:
            _check_prompt("prompt", prompt, rules, complain)
    policy = _policy(fields, rules, complain)
    models = _models(fields, complain)
    cwd = _cwd(fields, rules, complain)
    workspace = _workspace(fields, complain)
    tags = _texts(fields, "tags", complain)
    for tag in tags:
        if not tag.strip() or not tag.isprintable():
            complain("tags", f"{_shown(tag)} is blank or holds control codes")
    metadata = _metadata(fields, complain)
    if problems or custom_id is None or (prompt is None and file is None):
        return Read(row.line, custom_id, None, tuple(problems))
    item = Item(custom_id, prompt, file, policy, models, cwd, workspace, tags, metadata, row.line, row.ignored)
    return Read(row.line, custom_id, item)


def unknown_field(rules: Rules, line: int, name: str, known: Sequence[str] = FIELDS) -> Problem:
    """The problem of a field that nobody knows."""
    meant = nearest(name, known)
    said = "unknown field" if meant else f"unknown field; known here: {', '.join(known)}"
    return rules.problem(line, _clipped(name), said, meant)


def found_type(value: Any) -> str:
    """What a value is, as a person would say it."""
    return "null" if value is None else FOUND.get(type(value), "something else")


def folder_problem(path: Path) -> str | None:
    """Why no agent can work in a folder; None where one can."""
    try:
        if not path.is_dir():
            return "it is not a folder" if path.exists() else "there is no such folder"
        return None if os.access(path, os.R_OK | os.X_OK) else "it may not be entered"
    except (OSError, ValueError) as error:
        return (getattr(error, "strerror", None) or str(error)).lower()


def _custom_id(fields: Mapping[str, Any], derived: str, complain: Complain) -> str | None:
    given = [name for name in IDS if name in fields]
    if not given:
        return derived
    if len(given) > 1 and fields["id"] != fields["custom_id"]:
        complain("id", "there is a custom_id too, and another one; keep one of the two")
        return None
    name = given[0]
    value = fields[name]
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        complain(name, f"expected text or a whole number, found {found_type(value)}")
    elif not value or value != value.strip() or not value.isprintable():
        complain(name, f"{_shown(value)} is empty, has blanks at its ends or holds control codes")
    elif len(value) > LONGEST_ID:
        complain(name, f"it has {len(value)} characters; an id has at most {LONGEST_ID}")
    else:
        return value
    return None


def _given_prompt(fields: Mapping[str, Any], rules: Rules, complain: Complain) -> tuple[str | None, Path | None]:
    if "prompt" in fields and "prompt_file" in fields:
        complain("prompt_file", "there is a prompt too; keep one of the two")
        return None, None
    if "prompt_file" in fields:
        name = _text(fields, "prompt_file", complain)
        file = None if name is None else _path("prompt_file", name, rules, complain)
        if file is None:
            return None, None
        return None, file if _check_file(file, rules, complain) else None
    if "prompt" not in fields:
        complain("prompt", "it is missing; give a prompt or a prompt_file")
        return None, None
    prompt = _text(fields, "prompt", complain)
    if prompt is not None:
        _check_prompt("prompt", prompt, rules, complain)
    return prompt, None


def _check_prompt(field: str, prompt: str | Path, rules: Rules, complain: Complain) -> bool:
    try:
        read_prompt(prompt, slash=rules.slash)
    except (PromptError, PlaceError) as error:
        complain(field, error.message)
        return False
    return True


def _check_file(file: Path, rules: Rules, complain: Complain) -> bool:
    try:
        ordinary = file.is_file()
        there = ordinary or file.exists()
    except (OSError, ValueError) as error:
        complain("prompt_file", f"cannot read {file}: {(getattr(error, 'strerror', None) or str(error)).lower()}")
        return False
    if not ordinary:
        complain("prompt_file", f"{file}: {'it is no ordinary file' if there else 'there is no such file'}")
        return False
    return _check_prompt("prompt_file", file, rules, complain)


def _policy(fields: Mapping[str, Any], rules: Rules, complain: Complain) -> str | None:
    name = _text(fields, "policy", complain)
    known = rules.policies
    if name is not None and known is not None and name not in known and name != DEFAULT_POLICY:
        known = known | {DEFAULT_POLICY}
        meant = nearest(name, sorted(known))
        listed = "" if meant else f"; known: {', '.join(sorted(known))}"
        complain("policy", f"unknown policy {_shown(name)}{listed}", meant)
    return name


def _models(fields: Mapping[str, Any], complain: Complain) -> tuple[str, ...]:
    models = _texts(fields, "models", complain)
    for n, model in enumerate(models):
        wrong = _model_problem(model)
        if wrong is not None:
            complain("models", wrong)
        elif model in models[:n]:
            complain("models", f"{model} is there twice")
    return models


@functools.lru_cache(maxsize=1024)  # thousands of items name the same few
def _model_problem(model: str) -> str | None:
    try:
        ModelRef.parse(model)
    except ModelRefError as error:
        return error.message
    return None


def _cwd(fields: Mapping[str, Any], rules: Rules, complain: Complain) -> Path | None:
    name = _text(fields, "cwd", complain)
    path = None if name is None else _path("cwd", name, rules, complain)
    if path is None:
        return None
    wrong = folder_problem(path)
    if wrong is None:
        return path
    complain("cwd", f"{path}: {wrong}")
    return None


def _workspace(fields: Mapping[str, Any], complain: Complain) -> WorkspaceMode | None:
    name = _text(fields, "workspace", complain)
    for mode in get_args(WorkspaceMode):
        if name == mode:
            return cast("WorkspaceMode", mode)
    if name is not None:
        meant = nearest(name, get_args(WorkspaceMode))
        listed = "" if meant else f"; there are: {', '.join(get_args(WorkspaceMode))}"
        complain("workspace", f"there is no workspace {_shown(name)}{listed}", meant)
    return None


def _path(field: str, text: str, rules: Rules, complain: Complain) -> Path | None:
    """The whole path; a relative one begins at the input's folder."""
    try:
        return Path(os.path.abspath(rules.folder / Path(text).expanduser()))  # noqa: PTH100 - links are kept
    except (OSError, ValueError, RuntimeError) as error:
        complain(field, f"{_shown(text)} is no path: {error}")
        return None


def _metadata(fields: Mapping[str, Any], complain: Complain) -> Mapping[str, Any]:
    value = fields.get("metadata", {})
    if not isinstance(value, dict):
        complain("metadata", f"expected a table, found {found_type(value)}")
        return {}
    if value:
        try:
            same = orjson.loads(orjson.dumps(value)) == value
        except (TypeError, RecursionError) as error:
            complain("metadata", f"it cannot be written as JSON: {error}")
            return {}
        if not same:  # orjson writes what is no number as null, without a word
            complain("metadata", "it holds a number that JSON cannot write: NaN or infinite")
    return value


def _text(fields: Mapping[str, Any], field: str, complain: Complain) -> str | None:
    value = fields.get(field)
    if value is None or isinstance(value, str):
        return value
    complain(field, f"expected text, found {found_type(value)}")
    return None


def _texts(fields: Mapping[str, Any], field: str, complain: Complain) -> tuple[str, ...]:
    value = fields.get(field, ())
    if value == () or (isinstance(value, list) and all(isinstance(part, str) for part in value)):
        return tuple(value)
    odd = next((part for part in value if not isinstance(part, str)), None) if isinstance(value, list) else None
    found = f"a list with {found_type(odd)} in it" if isinstance(value, list) else found_type(value)
    complain(field, f"expected a list of texts, found {found}")
    return ()


def _shown(text: str) -> str:
    return repr(_clipped(text))


def _clipped(text: str) -> str:
    return text if len(text) <= 80 else text[:79] + "…"
