"""CSV inputs: a header that names the fields, cells that may hold lines of their own."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

from flows.inputs.facts import Problem, Row, Rules
from flows.inputs.fields import FIELDS, PROMPT_FIELDS, unknown_field
from flows.inputs.lines import no_text

_BAD_BYTE = re.compile("[\udc80-\udcff]")  # how a byte that is no UTF-8 is written in text
_LISTS = ("models", "tags")


def read_csv(file: io.BufferedReader, rules: Rules) -> Iterator[Row | Problem]:
    """The rows of a CSV file (commas, double quotes, a header). A row without an id is named by its number.

    An empty cell of an item's field says nothing. Lists stand in a cell with commas between, or as a JSON list;
    ``metadata`` as a JSON object.
    """
    csv.field_size_limit(sys.maxsize)  # a cell may hold a whole file; the module's own bound is 128 KiB
    reader = csv.reader((line.decode("utf-8", "surrogateescape") for line in file), strict=True)
    records = _records(reader)
    first = next(records, None)
    if first is None:
        return
    line, cells = first
    if isinstance(cells, csv.Error):
        yield rules.problem(line, None, f"it is no CSV: {cells}")
        return
    header = [cell.strip() for cell in cells]
    wrong = list(_header_problems(header, line, rules))
    yield from wrong
    if any(problem.field is None for problem in wrong):
        return  # the same would be said of every row
    known = [rules.templated or name in FIELDS for name in header]
    for n, (line, cells) in enumerate(records, 1):
        if isinstance(cells, csv.Error):
            yield rules.problem(line, None, f"it is no CSV: {cells}")
        elif len(cells) != len(header):
            yield rules.problem(line, None, f"it has {len(cells)} cells where the header names {len(header)}")
        else:
            pairs = zip(header, cells, known, strict=True)
            yield _row(line, n, {name: cell for name, cell, meant in pairs if meant}, rules)


def _records(reader: Any) -> Iterator[tuple[int, list[str] | csv.Error]]:
    """Every record with the line where it begins; blank lines are passed over."""
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield line, error
            continue
        if cells:
            yield line, cells


def _header_problems(header: list[str], line: int, rules: Rules) -> Iterator[Problem]:
    """What is wrong with the header; without a field where no row could be read by it."""
    for name, count in Counter(header).items():
        if not name or _BAD_BYTE.search(name):
            yield rules.problem(line, None, f"a column of the header has no name that can be read: {name!r}")
        elif count > 1:
            yield rules.problem(line, None, f"the header names {name!r} {count} times")
        elif not rules.templated and name not in FIELDS:
            yield unknown_field(rules, line, name)
    if not rules.templated and not any(name in PROMPT_FIELDS for name in header):
        yield rules.problem(line, None, f"the header names neither of {' and '.join(PROMPT_FIELDS)}")


def _row(line: int, n: int, cells: dict[str, str], rules: Rules) -> Row | Problem:
    fields: dict[str, Any] = {}
    for name, cell in cells.items():
        bad = _BAD_BYTE.search(cell)
        if bad:
            return rules.problem(line, name, no_text(ord(bad[0]) - 0xDC00))
        if name not in FIELDS or (rules.templated and name in PROMPT_FIELDS):
            fields[name] = cell
        elif cell.strip():
            try:
                fields[name] = _value(name, cell)
            except ValueError as error:
                return rules.problem(line, name, f"it is no JSON: {error}")
    return Row(line, f"row-{n}", fields)


def _value(name: str, cell: str) -> Any:
    """What a cell means. Raises ValueError for JSON that is none."""
    text = cell.strip()
    try:
        if name == "metadata" or (name in _LISTS and text.startswith("[")):
            return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return [part.strip() for part in text.split(",")] if name in _LISTS else cell
