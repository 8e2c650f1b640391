"""What is done before the agent exists: its files, its command line, its environment. All of it blocks for well under
a millisecond, and awaits nothing."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from atomic.agent import masked
from atomic.errors import PlaceError
from atomic.processes import boot_id
from atomic.record.facts import AttemptRecord
from atomic.record.files import FILE_MODE, place_error
from atomic.record.folders import AttemptFolder
from atomic.record.owner import host_name
from atomic.session.facts import AttemptSpec
from atomic.session.overlay import lay_over
from atomic.session.secrets import masker_for
from atomic.text import Masker
from atomic.workspace import environment_within


@dataclass(frozen=True, slots=True)
class Prepared:
    """A session that could start now. ``record`` is what ``attempt.json`` says, ``masker`` hides the secrets that the
    agent can get at."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    record: AttemptRecord
    masker: Masker = field(repr=False)


def prepare(spec: AttemptSpec) -> Prepared:
    """Make the attempt's folder with its prompt, session file and ``attempt.json``: a parent that is killed from here
    on leaves a trace of the child it may have started. Raises PlaceError, RecordError, SettingsError."""
    folder = spec.folder
    if not spec.cwd.is_dir():
        raise PlaceError(
            f"the agent cannot work in {spec.cwd}: there is no such folder", path=str(spec.cwd), reason="missing"
        )
    folder.create(spec.prompt)
    if spec.carry_from is not None:
        _carry(spec.carry_from, folder.session)
    overlay = lay_over(spec.agent, folder.overlay)
    argv = spec.agent.argv(model=spec.model, session=folder.session)
    environ = dict(os.environ) if spec.workspace is None else environment_within(spec.workspace, os.environ)
    env = {**spec.agent.environment(spec.marker, environ), **overlay}
    masker = masker_for(spec.agent, environ)
    record = AttemptRecord(
        run_id=spec.run_id,
        n=spec.n,
        model=None if spec.model is None else str(spec.model),
        carry=spec.carry_from is not None,
        record=folder.path.name,
        command=masked(argv, masker),
        marker=spec.marker,
        boot_id=boot_id(),
        host=host_name(),
        agent_version=spec.agent.version,
        may_stay=spec.agent.may_stay,
        cwd=str(spec.cwd),
        started_at=time.time(),
        limits=spec.limits,
        prompt_bytes=len(spec.prompt),
    )
    folder.write(record)
    return Prepared(argv, env, record, masker)


@dataclass(frozen=True, slots=True)
class Streams:
    """Descriptors of the three files that the agent gets."""

    stdin: int
    stdout: int
    stderr: int


@contextmanager
def opened(folder: AttemptFolder) -> Iterator[Streams]:
    """The agent's three streams, all of them real files: nothing can block on a pipe, no one else's stdin is
    inherited, and what the agent writes outlives this process. Raises PlaceError, RecordError."""
    # Appending: a left-over tool that holds an old descriptor cannot write over what is there.
    output = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    with ExitStack() as files:
        yield Streams(
            _opened(folder.prompt, os.O_RDONLY, files),
            _opened(folder.stream, output, files),
            _opened(folder.stderr, output, files),
        )


def _opened(path: Path, flags: int, files: ExitStack) -> int:
    try:
        descriptor = os.open(path, flags | os.O_CLOEXEC, FILE_MODE)
    except OSError as error:
        raise place_error(error, path, "open") from error
    files.callback(os.close, descriptor)
    return descriptor


def _carry(source: Path, target: Path) -> None:
    """Copy a failed attempt's session file; the original is never written to."""
    try:
        shutil.copyfile(source, target)
        target.chmod(FILE_MODE)
    except OSError as error:
        raise place_error(error, source, "copy the session file") from error
