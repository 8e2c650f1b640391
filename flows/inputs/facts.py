"""What an input is read into: items, and what is wrong with those that are none."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from atomic.settings import WorkspaceMode


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: the file, its line (from 1; None for the whole file), the field, and the known name
    nearest to an unknown one, where there is one."""

    file: str
    line: int | None
    field: str | None
    message: str
    nearest: str | None = None

    @property
    def text(self) -> str:
        """``items.jsonl:17: policy: …``, as one sentence for a person."""
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        named = f"{place}: {self.field}" if self.field else place
        return f"{named}: {self.message}" + (f"; did you mean {self.nearest!r}?" if self.nearest else "")


@dataclass(frozen=True, slots=True)
class Item:
    """One prompt of a batch, and what is its own; what it leaves open the batch decides.

    Either ``prompt`` or ``prompt_file`` is there. Paths are whole. ``line`` is where it begins in its file, from 1.
    ``ignored`` names what its line says and no agent can be told, but which is no reason to refuse it.
    """

    custom_id: str
    prompt: str | None
    prompt_file: Path | None = None
    policy: str | None = None
    models: tuple[str, ...] = ()
    cwd: Path | None = None
    workspace: WorkspaceMode | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    line: int = 1
    ignored: tuple[str, ...] = ()

    def prompt_bytes(self) -> bytes:
        """The prompt as it will be sent. Raises OSError when its file has gone since the input was checked."""
        if self.prompt_file is not None:
            return self.prompt_file.read_bytes()
        assert self.prompt is not None, "an item has a prompt or the file of one"
        return self.prompt.encode()

    def digest(self, *, cwd: Path, agent: Sequence[str]) -> str:
        """What makes the item another one when it changes: sha256, in hex, of its prompt, its folder (``cwd``, the
        batch's whole path, where it has none of its own) and the agent's flags. Neither policy nor budget is in it:
        an answer stays one under another policy. Raises OSError, as :meth:`prompt_bytes` does."""
        digest = hashlib.sha256()
        for part in (self.prompt_bytes(), *map(_encoded, (os.fspath(self.cwd or cwd), *agent))):
            digest.update(len(part).to_bytes(8, "big"))  # so that no two lists of parts run into the same bytes
            digest.update(part)
        return digest.hexdigest()


def _encoded(text: str) -> bytes:
    # By UTF-8 whatever the locale says: a digest is compared across machines.
    return text.encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class Row:
    """What a file says of one item, before anyone has looked whether it can be one. ``name`` is its id when it names
    none: made of its place in the file."""

    line: int
    name: str
    fields: Mapping[str, Any]
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Read:
    """What a row came to: an item, or the problems that keep it from being one. ``custom_id`` where it can be read."""

    line: int | None
    custom_id: str | None = None
    item: Item | None = None
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for every row of one input. Relative paths are relative to ``folder``, the input's own.

    ``policies`` are the names an item may give, None for any. With ``templated`` every field that is none of an
    item's is a variable of the template, and so are ``prompt`` and ``prompt_file``.
    """

    file: str
    folder: Path
    policies: frozenset[str] | None = None
    slash: bool = False
    templated: bool = False

    def problem(self, line: int | None, field: str | None, message: str, nearest: str | None = None) -> Problem:
        """A problem of this input."""
        return Problem(self.file, line, field, message, nearest)
