"""Answers against a JSON Schema. The library takes a tenth of a second to import, and only those who have a schema
need it. Nothing is ever fetched: what a schema refers to must be in its file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from atomic.errors import PolicyError
from atomic.regular import read_regular

LARGEST = 1 << 20  # bytes of a schema: a person wrote it, or a program for a person
MOST_PROBLEMS = 20  # told of one answer: who has mended so many can ask again
_FENCE = re.compile(r"```(?:json|JSON)?[ \t]*\r?\n(.*)\r?\n```", re.DOTALL)
_PROBLEM_LENGTH = 300  # characters of a problem: the library repeats the value, which may be the whole answer
_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


def read_schema(file: Path) -> Any:
    """The schema in a file, known to be one. Raises PolicyError that names file, line and place."""
    try:
        text = read_regular(file, LARGEST).decode("utf-8-sig")
        schema = json.loads(text, parse_constant=_refused)
    except OSError as error:
        near = _neighbour(file)
        raise _wrong(file, (error.strerror or str(error)).lower(), nearest=near) from None
    except json.JSONDecodeError as error:
        raise _wrong(file, f"not JSON: {_lower(error.msg)}", line=error.lineno) from None
    except (ValueError, RecursionError) as error:
        raise _wrong(file, f"not JSON: {_lower(str(error))}") from None
    _require_schema(file, text, schema)
    foreign = next(_foreign(schema, frozenset(_ids(schema))), None)
    if foreign is not None:
        raise _wrong(file, f"it refers to {foreign!r}, and nothing is fetched", line=_line(text, foreign))
    missing = next(_missing(schema), None)
    if missing is not None:
        raise _wrong(file, f"it refers to {missing!r}, which is not there", line=_line(text, missing))
    endless = next(_endless(schema), None)
    if endless is not None:
        raise _wrong(file, f"{endless!r} refers to itself, and to nothing else", line=_line(text, endless))
    return schema


def fit(answer: str, file: Path) -> list[str]:
    """What stands between an answer and the schema in this file: nothing for one that fits. The answer is JSON, bare or
    within one code fence. Blocks. Raises PolicyError for a schema that cannot be followed."""
    from referencing.exceptions import Unresolvable

    schema = read_schema(file)
    try:
        value = _value(answer)
    except (ValueError, RecursionError) as error:
        return [f"the answer is not JSON: {_lower(str(error))}"]
    found = []
    try:
        for problem in _validator(schema).iter_errors(value):
            found.append(f"{problem.json_path}: {_short(problem.message)}")
            if len(found) == MOST_PROBLEMS:
                break
    except Unresolvable as error:
        raise _wrong(file, f"it refers to {error.ref!r}, which is not there") from None
    except RecursionError:
        return ["the answer is nested too deeply"]
    return found


def _validator(schema: Any) -> Any:
    """A validator that fetches nothing."""
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry

    return validator_for(schema, default=Draft202012Validator)(schema, registry=Registry())


def _value(answer: str) -> Any:
    text = answer.strip()
    fenced = _FENCE.fullmatch(text)
    return json.loads(fenced[1] if fenced else text, parse_constant=_refused)


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _require_schema(file: Path, text: str, schema: Any) -> None:
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for

    try:
        validator_for(schema, default=Draft202012Validator).check_schema(schema)
    except SchemaError as error:
        place = ".".join(str(part) for part in error.absolute_path)
        value = error.instance
        near = get_close_matches(value, _TYPES, n=1) if isinstance(value, str) else []
        said = f"no JSON Schema: {place + ': ' if place else ''}{_short(error.message)}"
        raise _wrong(file, said, line=_line(text, value), nearest=near[0] if near else None, place=place) from None
    except RecursionError:
        raise _wrong(file, "nested too deeply") from None


def _foreign(schema: Any, known: frozenset[str]) -> Iterator[str]:
    """What it refers to outside of itself, and outside of the drafts that the library brings along."""
    for part in _tables(schema):
        for name in _REFERENCES:
            target = part.get(name)
            base = target.partition("#")[0] if isinstance(target, str) else ""
            if (
                base
                and base not in known
                and not base.startswith(("http://json-schema.org/", "https://json-schema.org/"))
            ):
                yield base


def _missing(schema: Any) -> Iterator[str]:
    """What it refers to within itself and does not hold. Where parts have an ``$id`` of their own, references are
    relative to it: those are found when an answer is checked."""
    from referencing import Registry, Resource
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    if any(isinstance(part.get("$id"), str) for part in _tables(schema) if part is not schema):
        return
    resource = Resource.from_contents(schema, default_specification=DRAFT202012)
    resolver = Registry().with_resource("", resource).resolver()
    for part in _tables(schema):
        target = part.get("$ref")
        if isinstance(target, str) and target.startswith("#"):
            try:
                resolver.lookup(target)
            except (Unresolvable, ValueError):  # a pointer may call for an item of a list by a word
                yield target


def _endless(schema: Any) -> Iterator[str]:
    """References that lead back to themselves, whatever the answer: no answer could be checked."""
    from referencing.exceptions import Unresolvable

    validator = _validator(schema)
    targets = {part["$ref"] for part in _tables(schema) if isinstance(part.get("$ref"), str)}
    for target in sorted(targets):
        try:
            next(validator.descend(None, {"$ref": target}), None)
        except RecursionError:
            yield target
        except Unresolvable:  # relative to an ``$id``: found when an answer is checked
            pass


def _ids(schema: Any) -> Iterator[str]:
    for part in _tables(schema):
        if isinstance(part.get("$id"), str):
            yield part["$id"]
            yield part["$id"].rpartition("/")[2]


def _tables(schema: Any) -> Iterator[dict[str, Any]]:
    stack = [schema]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            yield part
            stack.extend(part.values())
        elif isinstance(part, list):
            stack.extend(part)


def _line(text: str, value: Any) -> int | None:
    """The line of a value that stands in the text once."""
    written = json.dumps(value) if isinstance(value, str | int | float) else ""
    return text.count("\n", 0, text.index(written)) + 1 if written and text.count(written) == 1 else None


def _neighbour(file: Path) -> str | None:
    try:
        names = [path.name for path in file.parent.iterdir()]
    except OSError:
        return None
    return next(iter(get_close_matches(file.name, names, n=1)), None)


def _wrong(
    file: Path, said: str, *, line: int | None = None, nearest: str | None = None, place: str | None = None
) -> PolicyError:
    where = f"{file}:{line}" if line else str(file)
    meant = f"; did you mean {nearest!r}?" if nearest else ""
    hint = "`schema` of a policy (--schema) names a file with a JSON Schema."
    fields = {"file": str(file), "line": line, "key": "schema", "nearest": nearest, "place": place}
    return PolicyError(f"schema {where}: {said}{meant}", hint=hint, **fields)


def _short(text: str) -> str:
    return text if len(text) <= _PROBLEM_LENGTH else f"{text[: _PROBLEM_LENGTH - 1]}…"


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
