"""From ``SCHEDULES.toml`` to schedules that can be kept: every mistake is named with its file, line and key.

The file is named on the command line by whoever runs it, and is trusted as ``--config`` is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from pydantic import BaseModel, ValidationError

from atomic.errors import SettingsError, UsageError
from atomic.runner import prepare
from atomic.runner.prepare import DEFAULT_POLICY, workspace_mode
from atomic.settings import Layer, Settings, read_file
from atomic.settings.problems import explain, keys_of, nearest, unknown_key
from atomic.text import one_line
from flows.batch.folders import require_apart, whole_folders
from flows.deadlines import deadline_at
from flows.inputs import check
from flows.schedule.facts import BatchJob, PromptJob, Schedule, ScheduleFile
from flows.schedule.times import Times

_HEADER = re.compile(r"\s*\[\[\s*schedule\s*\]\]")
_SPAN = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*([smhd]?)", re.ASCII)
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_PATHS = ("input", "output", "template", "file", "cwd")
_WRITE = {
    "cron": 'write five fields, minute hour day month weekday: "0 2 * * *"',
    "rrule": 'write it as "FREQ=WEEKLY;BYDAY=MO,TH;BYHOUR=2;BYMINUTE=0"',
}
KINDS, JOBS = ("cron", "interval", "rrule"), ("batch", "prompt")


@dataclass(frozen=True, slots=True)
class Kept:
    """A schedule that has been checked: paths are whole. ``place`` is where it stands in its file."""

    schedule: Schedule
    times: Times
    late: float  # seconds
    place: str


def read_schedules(file: Path) -> list[Kept]:
    """The schedules of a file. Raises SettingsError for the first thing wrong."""
    whole = read_file(file)
    for key in whole.data:
        if key not in keys_of(ScheduleFile):
            raise unknown_key(whole, (key,), keys_of(ScheduleFile))
    tables = whole.data.get("schedule")
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise SettingsError(f"{file}: there is no schedule in it", hint="write [[schedule]]", file=str(file))
    found = [_kept(layer) for layer in _layers(whole, tables)]
    seen: dict[str, str] = {}
    for kept in found:
        name = kept.schedule.name
        if name in seen:
            raise SettingsError(
                f"{kept.place}: name: there is a schedule {name!r} at {seen[name]} already",
                hint="each has a name of its own: it is the batch's, too",
                file=str(file),
                key="name",
            )
        seen[name] = kept.place
    return found


def check_jobs(schedules: Sequence[Kept], settings: Settings) -> None:
    """Look at what can be known before the time has come: policy, models, folder, agent. Raises UsageError that names
    the schedule's place."""
    for kept in schedules:
        job = kept.schedule.job
        try:
            form = prepare(
                "-",
                policy=job.policy,
                models=job.models,
                agent=job.agent,
                cwd=job.cwd,
                tags=job.tags,
                workspace=job.workspace,
                shared=job.shared,
                settings=settings,
            )
            if isinstance(job, BatchJob) and not form.shared:
                _check_folders(job, form.cwd, settings)
        except UsageError as error:
            raise type(error)(
                f"{kept.place}: schedule {kept.schedule.name}: {error.message}", hint=error.hint, **error.fields
            ) from None


def _check_folders(job: BatchJob, cwd: Path, settings: Settings) -> None:
    """Look whether the items would be in each other's way, where the input is there already. Raises FolderBusy."""
    if not job.input.is_file():
        return
    checked = check(
        job.input,
        known_policies={DEFAULT_POLICY, *settings.policies},
        base_cwd=cwd,
        template=job.template,
        format=job.format,
        slash=job.slash,
    )
    at_once = job.concurrency or settings.batch.concurrency
    in_place = whole_folders(checked.in_place(workspace_mode(job.workspace, settings)), cwd)
    if in_place:
        require_apart(in_place, min(at_once, job.limit or at_once))


def _layers(whole: Layer, tables: list[dict[str, Any]]) -> Iterator[Layer]:
    """Each schedule as a layer of its own, whose lines are those of the file."""
    lines = whole.content.decode("utf-8-sig").split("\n")
    starts = [n for n, line in enumerate(lines) if _HEADER.match(line)]
    if len(starts) != len(tables):  # schedule = [{…}, {…}]
        yield from (Layer(table, whole.file) for table in tables)
        return
    for table, start, end in zip(tables, starts, [*starts[1:], len(lines)], strict=True):
        own = [re.sub(r"^(\s*\[)\s*schedule\s*\.", r"\1", line) for line in lines[start + 1 : end]]
        yield Layer(table, whole.file, "\n".join([""] * (start + 1) + own).encode())


def _kept(layer: Layer) -> Kept:
    schedule = _validated(layer)
    name = schedule.name
    if not name.strip() or not name.isprintable() or any(letter in name for letter in "/%"):
        raise _wrong(layer, "name", f"{name!r} is blank, or holds control codes, '/' or '%'")
    kind = _one_of(layer, schedule, KINDS, "when it is carried out")
    job = _one_of(layer, schedule, JOBS, "what is carried out")
    zone = _zone(layer, schedule.timezone)
    seconds = _seconds(layer, "interval", schedule.interval) if schedule.interval is not None else None
    if seconds is not None and seconds < 1:
        raise _wrong(layer, "interval", "is shorter than a second")
    try:
        times = Times.of(schedule.cron, seconds, schedule.rrule, schedule.timezone)
    except ValueError as error:
        raise _wrong(
            layer, kind, f"{getattr(schedule, kind)!r} cannot be kept: {_reason(error)}", _WRITE.get(kind)
        ) from None
    if schedule.deadline is not None:
        try:
            deadline_at(schedule.deadline, 0.0, zone)
        except UsageError as error:
            raise _wrong(layer, "deadline", error.message, error.hint) from None
    prompt = schedule.prompt
    if prompt is not None and (prompt.text is None) == (prompt.file is None):
        raise _wrong(layer, "prompt", "give either text or file")
    place = layer.place(("name",)).text
    return Kept(_anchored(schedule, job, layer), times, _seconds(layer, "late", schedule.late), place)


def _validated(layer: Layer) -> Schedule:
    try:
        return Schedule.model_validate_json(json.dumps(layer.data, default=str), strict=True)
    except ValidationError as error:
        raise explain(Schedule, layer, error) from None


def _one_of(layer: Layer, schedule: BaseModel, keys: tuple[str, ...], what: str) -> str:
    given = [key for key in keys if getattr(schedule, key) is not None]
    if len(given) != 1:
        said = f"give one of {', '.join(keys)}, not {' and '.join(given)}" if given else f"{what} is missing"
        raise _wrong(layer, given[-1] if given else "name", said, f"write {', '.join(keys[:-1])} or {keys[-1]}")
    return given[0]


def _zone(layer: Layer, name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        near = nearest(name, available_timezones())
        hint = f"did you mean {near}?" if near else "write it as Europe/Berlin or UTC"
        raise _wrong(layer, "timezone", f"there is no time zone {name!r}", hint, nearest=near) from None


def _seconds(layer: Layer, key: str, value: float | str) -> float:
    if isinstance(value, str):
        span = _SPAN.fullmatch(value.strip().lower())
        if span is None:
            raise _wrong(layer, key, f"{value!r} is no length of time", "write 90s, 15m, 6h, 1d, or seconds")
        value = float(span[1]) * _SECONDS[span[2]]
    if not 0 <= value <= timedelta(days=3660).total_seconds():
        raise _wrong(layer, key, f"{value:g} seconds make no sense")
    return value


def _anchored(schedule: Schedule, job: str, layer: Layer) -> Schedule:
    """The schedule with whole paths: its own are relative to the file's folder, which is also where agents work."""
    assert layer.file is not None, "it was read from a file"
    folder = layer.file.absolute().parent
    given: BatchJob | PromptJob = schedule.job
    paths = {name: getattr(given, name, None) for name in _PATHS}
    whole = {name: folder / path.expanduser() for name, path in paths.items() if path is not None}
    return schedule.model_copy(update={job: given.model_copy(update={"cwd": folder, **whole})})


def _wrong(layer: Layer, key: str, said: str, hint: str | None = None, **fields: Any) -> SettingsError:
    place = layer.place((key,))
    return SettingsError(f"{place.text}: {key}: {said}", hint=hint, file=place.file, line=place.line, key=key, **fields)


def _reason(error: ValueError) -> str:
    """What a library's error says, without pydantic's frame."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]["msg"]
        return _of_rule(first.removeprefix("Value error, "))
    return _of_rule(str(error))


def _of_rule(said: str) -> str:
    """Prefect repeats the whole rule, with the beginning that we gave it."""
    return one_line(said.rpartition('": ')[2] if said.startswith("Invalid RRule string") else said, 300)
