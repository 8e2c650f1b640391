"""Renders a template for row after row, in a process of its own that can neither eat the memory nor run for ever.

This file is run by its path and imports nothing else of the package, so that it starts at once. On stdin: a line with
the template as JSON text, then batches: a line with their number, and as many lines of JSON objects. On stdout: a
line for the template, and one for each row. A row that takes too long ends the process by SIGXCPU.
"""

from __future__ import annotations

import json
import re
import resource
import sys
import time
from contextlib import suppress
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError, TemplateNotFound, TemplateSyntaxError, UndefinedError
from jinja2.sandbox import ImmutableSandboxedEnvironment

SECONDS = 3  # of processor time for one row, which takes a thousandth of one when nothing is wrong
MEMORY = 1024**3  # bytes of address space, of which an interpreter with Jinja takes a fifth
LONGEST = 16 * 1024**2  # characters of a prompt: four times the largest window
_FILE = "<template>"  # what Jinja calls a template that came as text
_MISSING = re.compile(r"'(\w+)' is undefined")


def compiled(text: str) -> Template:
    """The template, which may call nothing that changes or reaches anything, and gets no variable that is missing.
    Raises TemplateError."""
    return ImmutableSandboxedEnvironment(undefined=StrictUndefined).from_string(text)


def rendered(template: Template, fields: dict[str, Any]) -> dict[str, Any]:
    """What the template makes of a row: ``prompt``, or ``message`` and where known ``line`` and ``name``.

    Every field is a variable; ``row`` is the whole row, for names that are no identifiers.
    """
    parts: list[str] = []
    size = 0
    try:
        for part in template.generate({"row": fields, **fields}):
            size += len(part)
            if size > LONGEST:
                return {"message": f"the prompt gets longer than {LONGEST} characters"}
            parts.append(part)
        return {"prompt": "".join(parts)}
    except Exception as error:  # noqa: BLE001 - whatever a template can raise is the template's fault
        parts.clear()  # the memory may be full
        return failure(error)


def failure(error: Exception) -> dict[str, Any]:
    """What is said of an error in a template."""
    missing = _MISSING.search(str(error)) if isinstance(error, UndefinedError) else None
    return {"message": _said(error), "line": _line(error), "name": missing[1] if missing else None}


def _said(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return f"it needs more than {MEMORY // 1024**2} MiB of memory"
    if isinstance(error, RecursionError):
        return "it calls itself without end"
    if isinstance(error, TemplateNotFound) or "no loader" in str(error):
        return "a template cannot include, import or extend another"
    return str(error) if isinstance(error, TemplateError) else f"{type(error).__name__}: {error}"


def _line(error: Exception) -> int | None:
    if isinstance(error, TemplateSyntaxError):
        return error.lineno
    line, step = None, error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == _FILE:
            line = step.tb_lineno
        step = step.tb_next
    return line


def _bound_memory() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(ValueError, OSError):  # macOS does not bound it; time and length are bounded there too
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _bound_time() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = int(time.process_time()) + 1 + SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def _answer(value: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")  # all ASCII: halves of characters pass
    sys.stdout.flush()


def main() -> None:
    """Answer until stdin ends."""
    _bound_memory()
    _bound_time()
    lines = sys.stdin.buffer
    try:
        template = compiled(json.loads(lines.readline()))
    except Exception as error:  # noqa: BLE001 - as above
        _answer(failure(error))
        return
    _answer({})
    while number := lines.readline():
        # The whole batch first: were it read row by row, both sides could wait for the other to read.
        batch = [lines.readline() for _ in range(int(number))]
        for row in batch:
            _bound_time()
            _answer(rendered(template, json.loads(row)))


if __name__ == "__main__":
    main()
