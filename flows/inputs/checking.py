"""The whole check of an input, in one pass, before anything is spent."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from atomic.errors import InputError
from atomic.settings import WorkspaceMode
from atomic.text import one_line
from flows.inputs.facts import Problem, Read, Rules
from flows.inputs.fields import folder_problem
from flows.inputs.reading import read_rows, rules_of
from flows.inputs.source import Fingerprint, Source, format_of, take_fingerprint

SHOWN = 100  # problems that are kept and told: who has more has one mistake that is made over and over
_LINE = 400  # characters of a problem that are told


@dataclass(frozen=True, slots=True)
class Choice:
    """What some items say of how they are run: the same policy (None: they name none) and the same models."""

    policy: str | None
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Where some items are worked on: their own folder and workspace; None: those of the batch."""

    cwd: Path | None
    workspace: WorkspaceMode | None


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found. ``count`` are the sound items, ``problems`` the first SHOWN of ``wrong`` in all.

    ``choices`` counts items by what they say of policy and models, ``places`` by where they are worked on (``lines``
    has the line of the first of each), ``ignored`` by the fields that are passed over; ``files`` are the items whose
    prompt is a file of its own.
    ``fingerprint`` and ``template`` tell later whether the files are still those that were checked; the first is
    None only where there are problems.
    """

    path: Path
    format: str
    count: int
    wrong: int
    problems: tuple[Problem, ...]
    fingerprint: Fingerprint | None
    template: Fingerprint | None
    choices: Mapping[Choice, int]
    places: Mapping[Place, int]
    lines: Mapping[Place, int]
    ignored: Mapping[str, int]
    files: int

    @property
    def folders(self) -> Mapping[Path | None, int]:
        """The items by the folder that they name; None: they name none."""
        found: Counter[Path | None] = Counter()
        for place, count in self.places.items():
            found[place.cwd] += count
        return found

    def in_place(self, mode: WorkspaceMode) -> Mapping[Path | None, int]:
        """The same, without those that are worked on in a workspace; ``mode`` is that of items that name none."""
        found: Counter[Path | None] = Counter()
        for place, count in self.places.items():
            if (place.workspace or mode) == "shared":
                found[place.cwd] += count
        return found

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies that items name, in the order in which they come first."""
        return tuple(dict.fromkeys(choice.policy for choice in self.choices if choice.policy is not None))

    @property
    def models(self) -> tuple[str, ...]:
        """The models that items name, in the order in which they come first."""
        return tuple(dict.fromkeys(model for choice in self.choices for model in choice.models))

    def require_sound(self) -> None:
        """Raises InputError, with every problem that is kept, where there is one."""
        if not self.wrong:
            return
        many = "1 problem" if self.wrong == 1 else f"{self.wrong} problems"
        lines = [f"{self.path} cannot be run: {many}"]
        lines += [f"  {one_line(problem.text, _LINE)}" for problem in self.problems]
        if self.wrong > len(self.problems):
            lines.append(f"  … and {self.wrong - len(self.problems)} more")
        raise InputError(
            "\n".join(lines),
            hint="Nothing was started. Correct the input and give the same command again.",
            problems=self.problems,
            total=self.wrong,
        )

    def changed(self) -> bool:
        """Whether input or template hold other bytes now than when they were checked."""
        return any(taken is not None and taken.changed() for taken in (self.fingerprint, self.template))


def check(
    path: Path,
    *,
    known_policies: Collection[str],
    base_cwd: Path,
    template: Path | None = None,
    format: str | None = None,  # noqa: A002 - nothing here formats
    slash: bool = False,
) -> Checked:
    """Look at every item: by itself as :func:`read_items` does, that its id is there once, that its policy is known,
    and that ``base_cwd`` is a folder when one has none of its own.

    Ids are kept as 16 bytes each, so that 100,000 take little. Raises PlaceError where input or template cannot be
    read, UsageError for an unknown format.
    """
    tally = _Tally()
    kind = format_of(path, format)
    rules = rules_of(path, template=template, slash=slash, policies=frozenset(known_policies))
    before = None if template is None else take_fingerprint(template)
    with Source(path) as source:
        for read in read_rows(source, kind, rules, template):
            tally.add(read, rules)
        fingerprint = source.fingerprint()
    if fingerprint is None or (before is not None and before.changed()):
        tally.complain(rules.problem(None, None, "it changed while it was checked; start again when it is written"))
    elif not tally.count and not tally.wrong:
        tally.complain(rules.problem(None, None, "there is no item in it"))
    no_folder = folder_problem(base_cwd) if tally.homeless else None
    if no_folder is not None:
        tally.complain(Problem(str(base_cwd), None, "cwd", f"items that name no folder are run in it: {no_folder}"))
    return Checked(
        path=path,
        format=kind,
        count=tally.count,
        wrong=tally.wrong,
        problems=tuple(tally.problems),
        fingerprint=fingerprint,
        template=before,
        choices=tally.choices,
        places=tally.places,
        lines=tally.lines,
        ignored=tally.ignored,
        files=tally.files,
    )


class _Tally:
    """What is counted while an input is read."""

    def __init__(self) -> None:
        self.count = self.wrong = self.homeless = self.files = 0
        self.problems: list[Problem] = []
        self.choices: Counter[Choice] = Counter()
        self.places: Counter[Place] = Counter()
        self.lines: dict[Place, int] = {}
        self.ignored: Counter[str] = Counter()
        self._lines: dict[bytes, int | None] = {}  # by the digest of the id

    def complain(self, problem: Problem) -> None:
        self.wrong += 1
        if len(self.problems) < SHOWN:
            self.problems.append(problem)

    def add(self, read: Read, rules: Rules) -> None:
        for problem in read.problems:
            self.complain(problem)
        sound = read.item is not None
        if read.custom_id is not None:
            digest = hashlib.blake2b(read.custom_id.encode(), digest_size=16).digest()
            if digest not in self._lines:
                self._lines[digest] = read.line
            else:
                shown = one_line(read.custom_id, 80)
                said = f"the id {shown!r} is that of line {self._lines[digest]} too"
                self.complain(rules.problem(read.line, "custom_id", said))
                sound = False
        if not sound or read.item is None:
            return
        self.count += 1
        self.files += read.item.prompt_file is not None
        self.homeless += read.item.cwd is None
        place = Place(read.item.cwd, read.item.workspace)
        self.places[place] += 1
        self.lines.setdefault(place, read.item.line)
        self.choices[Choice(read.item.policy, read.item.models)] += 1
        for name in read.item.ignored:
            self.ignored[name] += 1
