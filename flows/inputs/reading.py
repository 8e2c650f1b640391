"""From a file to items, one after the other: memory holds a few rows, whatever the input's length."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path

from flows.inputs.facts import Item, Problem, Read, Row, Rules
from flows.inputs.fields import Rendered, read_row
from flows.inputs.lines import read_jsonl, read_text
from flows.inputs.openai import from_openai, is_openai
from flows.inputs.source import BUFFER, Source, format_of, is_utf_16, skip_mark
from flows.inputs.tables import read_csv
from flows.inputs.template import Renderer
from flows.inputs.yaml_items import read_yaml

_READERS: dict[str, Callable[[io.BufferedReader, Rules], Iterator[Row | Problem]]] = {
    "jsonl": read_jsonl,
    "openai": read_jsonl,
    "csv": read_csv,
    "yaml": read_yaml,
    "text": read_text,
}


def read_items(
    path: Path,
    *,
    template: Path | None = None,
    format: str | None = None,  # noqa: A002 - nothing here formats
    slash: bool = False,
) -> Iterator[Item | Problem]:
    """The items of an input in its order, and in between what is wrong with the rows that are none.

    Everything is looked at that can be by itself; that ids are there once and policies are known, `check` sees.
    ``format`` is one of FORMATS, by default what the suffix says; ``template`` makes the prompts out of the rows;
    ``slash`` allows prompts that begin with '/'. Raises PlaceError where a file cannot be read, UsageError for a
    format that is not known.
    """
    rules = rules_of(path, template=template, slash=slash)
    kind = format_of(path, format)
    # Closed in this order when the caller stops early: the rows and their sandbox, then the file.
    with Source(path) as source, closing(read_rows(source, kind, rules, template)) as reading:
        for read in reading:
            yield from read.problems
            if read.item is not None:
                yield read.item


def rules_of(path: Path, *, template: Path | None, slash: bool, policies: frozenset[str] | None = None) -> Rules:
    """The rules of an input."""
    folder = Path(os.path.abspath(path)).parent  # noqa: PTH100 - the folder it was named in, not that of a link's target
    return Rules(str(path), folder, policies, slash, template is not None)


def read_rows(source: Source, kind: str, rules: Rules, template: Path | None) -> Generator[Read, None, None]:
    """What every row came to. Raises PlaceError for a template that cannot be read."""
    file: io.BufferedReader = io.BufferedReader(source, BUFFER)
    try:
        if is_utf_16(file):
            yield _wrong(rules.problem(1, None, "it is UTF-16 text; write it as UTF-8"))
            return
        skip_mark(file)
        rows = _READERS[kind](file, rules)
        if kind in ("jsonl", "openai"):
            rows = _translated(rows, kind == "openai", rules)
        if template is None:
            yield from (_read(row, rules, None) for row in rows)
            return
        with Renderer(template) as renderer:
            if renderer.problem is not None:
                yield _wrong(renderer.problem)
            yield from (_read(row, rules, rendered) for row, rendered in renderer.render_all(rows))
    finally:
        file.detach()  # the source is the caller's to close


def _translated(rows: Iterator[Row | Problem], all_of_them: bool, rules: Rules) -> Iterator[Row | Problem]:
    """The rows, those in OpenAI's form turned into ours."""
    for row in rows:
        if isinstance(row, Row) and (all_of_them or is_openai(row.fields)):
            found = from_openai(row, rules)
            yield from found if isinstance(found, list) else (found,)
        else:
            yield row


def _read(row: Row | Problem, rules: Rules, rendered: Rendered | None) -> Read:
    return _wrong(row) if isinstance(row, Problem) else read_row(row, rules, rendered)


def _wrong(problem: Problem) -> Read:
    return Read(problem.line, problems=(problem,))
