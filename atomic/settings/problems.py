"""From a wrong key or value to a message that says where it stands, what was expected and what was probably meant."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Sequence
from types import UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from atomic.errors import SettingsError, UsageError
from atomic.settings.layers import Layer

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

# pydantic's error types, as a person would say it.
EXPECTED = {
    "string_type": "text",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "path_type": "a path",
}
FOUND = {bool: "true or false", str: "text", int: "a whole number", float: "a number", list: "a list", dict: "a table"}
CLOSE_ENOUGH = 0.6  # difflib's own default: two wrong letters in a word of six still find it


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like this one; None when none is like it."""
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=CLOSE_ENOUGH)
    return found[0] if found else None


def check(model: type[BaseModel], layer: Layer) -> None:
    """Validate a layer on its own, so that a message can name its file and line. Raises SettingsError for all that is
    wrong."""
    if problems := problems_of(model, layer):
        raise together(problems)


def problems_of(model: type[BaseModel], layer: Layer) -> list[UsageError]:
    """All that is wrong with a layer, each with its place, in the order of the file."""
    known = keys_of(model)
    ours = {name for name in layer.data if name in model.model_fields and name not in known}  # which no file may set
    problems: list[UsageError] = [unknown_key(layer, (name,), known) for name in ours]
    given = {name: value for name, value in layer.data.items() if name not in ours}
    try:
        # By way of JSON, where a list is a tuple's and text is a path's form, and where `strict` still refuses "3".
        model.model_validate_json(json.dumps({"home": "/", **given}, default=str), strict=True)
    except ValidationError as error:
        problems += explain_all(model, layer, error)
    return sorted(problems, key=lambda one: one.fields.get("line") or 0)


def together(problems: Sequence[UsageError]) -> UsageError:
    """One error for all of them: the one there is, or a SettingsError with a line for each, the fields of the first,
    and ``problems``, their messages."""
    first, *others = problems
    if not others:
        return first
    lines = [f"{one.message}{f' ({one.hint})' if one.hint else ''}" for one in problems]
    fields = {name: first.fields.get(name) for name in ("file", "line", "key", "nearest")}
    message = "\n  ".join([f"{len(problems)} problems in the settings:", *lines])
    return SettingsError(message, problems=tuple(one.message for one in problems), **fields)


def explain(model: type[BaseModel], layer: Layer, error: ValidationError) -> SettingsError:
    """The first problem of a validation, in words."""
    return explain_all(model, layer, error)[0]


def explain_all(model: type[BaseModel], layer: Layer, error: ValidationError) -> list[SettingsError]:
    """The problems of a validation, in words: unknown keys first, and without what is missing only for being
    mistyped."""
    problems = error.errors(include_url=False, include_input=False)
    unknown, wrong = [], []
    for problem in problems:
        key = [str(part) for part in problem["loc"]]
        if problem["type"] == "extra_forbidden":
            unknown.append(unknown_key(layer, key, keys_of(_model_at(model, key[:-1]))))
    meant = {(*one.fields["key"].split(".")[:-1], one.fields["nearest"]) for one in unknown}
    for problem in problems:
        key = [str(part) for part in problem["loc"]]
        mistyped = problem["type"] == "missing" and tuple(key) in meant
        if problem["type"] != "extra_forbidden" and not mistyped:
            wrong.append(_wrong_value(layer, key, problem))
    return [*unknown, *wrong]


def _wrong_value(layer: Layer, key: list[str], problem: ErrorDetails) -> SettingsError:
    place = layer.place(key)
    expected = _expected(problem["type"], problem.get("ctx", {}), problem["msg"])
    if problem["type"] in EXPECTED:
        expected += f", found {FOUND.get(type(_value_at(layer.data, key)), 'something else')}"
    said = "is missing" if problem["type"] == "missing" else f"expected {expected}"
    return SettingsError(f"{place.text}: {'.'.join(key)}: {said}", file=place.file, line=place.line, key=".".join(key))


def unknown_key(layer: Layer, key: Sequence[str], known: Sequence[str]) -> SettingsError:
    """An error that names the key, where it stands, and the nearest that exists."""
    place = layer.place(key)
    meant = nearest(key[-1], known)
    return SettingsError(
        f"{place.text}: unknown key {'.'.join(key)}",
        hint=f"did you mean {'.'.join([*key[:-1], meant])}?" if meant else f"known here: {', '.join(known)}",
        file=place.file,
        line=place.line,
        key=".".join(key),
        nearest=meant,
    )


def keys_of(model: type[BaseModel]) -> list[str]:
    """The keys that a table of the file may hold."""
    inner = {"home", "sources"}  # set by where we are, never by a file
    return [field.alias or name for name, field in model.model_fields.items() if name not in inner]


def _model_at(model: type[BaseModel], path: Sequence[str]) -> type[BaseModel]:
    """The model of the table at this path; tables by name (``[model.NAME]``) have the model of their values."""
    inner: Any = model
    for name in path:
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            inner = {field.alias or key: field.annotation for key, field in inner.model_fields.items()}[name]
        else:
            inner = get_args(inner)[-1]
        if get_origin(inner) in (Union, UnionType):  # "this table or none"
            inner = next(part for part in get_args(inner) if part is not type(None))
    assert isinstance(inner, type), "only tables have keys"
    return inner


def _value_at(data: Any, path: Sequence[str]) -> Any:
    for name in path:
        try:
            data = data[int(name) if isinstance(data, list) else name]
        except (KeyError, IndexError, TypeError, ValueError):
            return data
    return data


def _expected(kind: str, context: dict[str, Any], message: str) -> str:
    if kind == "literal_error":
        return f"one of {context['expected'].replace(chr(39), chr(34))}"
    for bound, word in (("ge", "at least"), ("le", "at most")):
        if bound in context:
            return f"a number of {word} {context[bound]}"
    return EXPECTED.get(kind, message[:1].lower() + message[1:])
