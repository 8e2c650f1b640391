"""YAML inputs, read item by item, so that a long list is never in memory whole.

Values are those of JSON, and only what JSON would write without quotes is more than text: `yes`, `1:30`, `007` and
dates stay what they look like. Anchors, aliases and merge keys (`<<`) work; other tags are refused.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

import yaml

from flows.inputs.facts import Problem, Row, Rules
from flows.inputs.fields import DEFAULT_FIELDS, FIELDS, IDS, unknown_field

_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "seq", "map")}
_STRING = "tag:yaml.org,2002:str"
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
}
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]*(?:[eE][-+]?[0-9]+)?")
_LARGEST_NUMBER = 1000  # digits; Python itself refuses to read much longer ones
# Characters and values that aliases may add to one item: ten that repeat ten that repeat ten … are a page that fills
# any memory.
_REPEATED = 16 * 1024 * 1024


def read_yaml(file: io.BufferedReader, rules: Rules) -> Iterator[Row | Problem]:
    """The rows of a list of items, or of a mapping with ``defaults`` and, after them, ``items``.

    An item's own fields take the place of the defaults. A row without an id is named by its number.
    """
    document = _Document(file)
    try:
        yield from _document(document, rules)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = None if mark is None else mark.line + 1
        yield rules.problem(line, None, f"it is no YAML: {error.problem or error.context}")
    except yaml.YAMLError as error:
        yield rules.problem(None, None, f"it is no YAML: {' '.join(str(error).split())}")
    except RecursionError:
        yield rules.problem(None, None, "an item is nested too deeply")


def _document(document: _Document, rules: Rules) -> Iterator[Row | Problem]:
    document.take()  # the stream's start
    if document.at(yaml.StreamEndEvent):
        return
    document.take()  # the document's start
    if document.at(yaml.SequenceStartEvent):
        yield from _items(document, rules, {})
    elif document.at(yaml.MappingStartEvent):
        yield from _tables(document, rules)
    else:
        line = document.line
        if document.value() is not None:
            yield rules.problem(line, None, "expected a list of items, or a mapping with defaults and items")
    document.take()  # the document's end
    if not document.at(yaml.StreamEndEvent):
        yield rules.problem(document.line, None, "a second document begins; one file is one list of items")


def _tables(document: _Document, rules: Rules) -> Iterator[Row | Problem]:
    document.take()
    defaults: dict[str, Any] = {}
    seen: set[str] = set()
    while not document.at(yaml.MappingEndEvent):
        line = document.line
        name, _ = document.key()
        if name in seen:
            yield rules.problem(line, name, "it is there twice")
        seen.add(name)
        if name == "items" and document.at(yaml.SequenceStartEvent):
            yield from _items(document, rules, defaults)
            continue
        value = document.value()
        if name == "items":
            yield rules.problem(line, "items", "expected a list")
        elif name == "defaults":
            if "items" in seen:
                yield rules.problem(line, "defaults", "they come before the items they are for")
            elif not isinstance(value, dict):
                yield rules.problem(line, "defaults", "expected a mapping")
            else:
                yield from _default_problems(value, line, rules)
                defaults = {key: part for key, part in value.items() if _may_default(key, rules)}
        else:
            yield unknown_field(rules, line, name, ("defaults", "items"))
    document.take()
    if "items" not in seen:
        yield rules.problem(None, "items", "it is missing")


def _default_problems(defaults: dict[str, Any], line: int, rules: Rules) -> Iterator[Problem]:
    for name in defaults:
        if not _may_default(name, rules):
            yield unknown_field(rules, line, name, DEFAULT_FIELDS)


def _may_default(name: str, rules: Rules) -> bool:
    """Whether a field can be the same for all items: its id cannot, nor its prompt, unless a template makes that."""
    return name in DEFAULT_FIELDS or (rules.templated and name not in IDS)


def _items(document: _Document, rules: Rules, defaults: dict[str, Any]) -> Iterator[Row | Problem]:
    document.take()
    n = 0
    while not document.at(yaml.SequenceEndEvent):
        n += 1
        line = document.line
        value = document.item()
        if isinstance(value, dict):
            yield Row(line, f"item-{n}", {**defaults, **value})
        else:
            shown = ", ".join(FIELDS[:3])
            yield rules.problem(line, None, f"expected an item, a mapping with fields such as {shown}")
    document.take()


class _Document:
    """The values of a document, one after the other, out of the parser's events. Raises yaml.YAMLError."""

    def __init__(self, file: io.BufferedReader) -> None:
        self._events = yaml.parse(file, Loader=yaml.CSafeLoader)
        self._next: Any = None  # looked at, not taken
        self._anchors: dict[str, tuple[Any, int]] = {}  # value, and how much it is when it is written out
        self._repeated = 0

    def peek(self) -> Any:
        """The next event, which stays the next."""
        if self._next is None:
            self._next = next(self._events)
        return self._next

    def take(self) -> Any:
        """The next event, which is over with it."""
        event = self.peek()
        self._next = None
        return event

    @property
    def line(self) -> int:
        """Where the next event stands."""
        return int(self.peek().start_mark.line) + 1

    def at(self, kind: type[yaml.Event]) -> bool:
        """Whether the next event is of this kind."""
        return isinstance(self.peek(), kind)

    def item(self) -> Any:
        """The next value, which aliases may fill only so far."""
        self._repeated = 0
        return self.value()

    def key(self) -> tuple[str, bool]:
        """The key that comes next, which is text whatever it looks like, and whether it merges (`<<`)."""
        event = self.take()
        if not isinstance(event, yaml.ScalarEvent):
            raise yaml.MarkedYAMLError(problem="a key is no text", problem_mark=event.start_mark)
        return event.value, event.value == "<<" and event.implicit[0]

    def value(self) -> Any:
        """The next value."""
        return self._value()[0]

    def _value(self) -> tuple[Any, int]:
        event = self.take()
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        if event.tag not in _TAGS and event.tag not in (None, "!"):
            raise yaml.MarkedYAMLError(problem=f"the tag {event.tag!r} is not known", problem_mark=event.start_mark)
        if isinstance(event, yaml.ScalarEvent):
            found: tuple[Any, int] = _scalar(event), 1 + len(event.value)
        elif isinstance(event, yaml.SequenceStartEvent):
            found = self._sequence()
        else:
            found = self._mapping()
        if event.anchor is not None:
            self._anchors[event.anchor] = found
        return found

    def _alias(self, event: Any) -> tuple[Any, int]:
        if event.anchor not in self._anchors:
            said = f"the alias *{event.anchor} has no anchor before it"
            raise yaml.MarkedYAMLError(problem=said, problem_mark=event.start_mark)
        found = self._anchors[event.anchor]
        self._repeated += found[1]
        if self._repeated > _REPEATED:
            said = "aliases repeat more than an item can hold"
            raise yaml.MarkedYAMLError(problem=said, problem_mark=event.start_mark)
        return found

    def _sequence(self) -> tuple[list[Any], int]:
        values: list[Any] = []
        size = 1
        while not self.at(yaml.SequenceEndEvent):
            value, weight = self._value()
            values.append(value)
            size += weight
        self.take()
        return values, size

    def _mapping(self) -> tuple[dict[str, Any], int]:
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        size = 1
        while not self.at(yaml.MappingEndEvent):
            mark = self.peek().start_mark
            key, merging = self.key()
            value, weight = self._value()
            size += len(key) + weight
            if merging:
                for table in value if isinstance(value, list) else [value]:
                    if not isinstance(table, dict):
                        raise yaml.MarkedYAMLError(problem="only a mapping can be merged by <<", problem_mark=mark)
                    merged = {**table, **merged}
            elif key in own:
                raise yaml.MarkedYAMLError(problem=f"the key {key!r} is there twice", problem_mark=mark)
            else:
                own[key] = value
        self.take()
        return {**merged, **own}, size


def _scalar(event: Any) -> Any:
    """What a scalar means: quoted and marked ones are text."""
    text: str = event.value
    if not event.implicit[0] and (event.tag in (None, "!", _STRING)):
        return text
    if text in _WORDS:
        return _WORDS[text]
    if len(text) <= _LARGEST_NUMBER:
        if _INTEGER.fullmatch(text):
            return int(text)
        if _FLOAT.fullmatch(text):
            return float(text)
    return text
