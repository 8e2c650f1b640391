"""What there is to explain: the verdict of a stream, or of an attempt of a run, with the run around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from atomic.agent import Agent
from atomic.errors import PlaceError, RecordDamaged, RecordError
from atomic.record import AttemptFolder, AttemptRecord, RunFolder, RunRecord, RunStore
from atomic.record.cat import find_attempts
from atomic.record.owner import OwnerState, state_of
from atomic.runner import open_store
from atomic.session import masker_for
from atomic.settings import load_settings
from atomic.text import Masker, printable
from atomic.verdict import explanation, read_verdict
from atomic.verdict.checked import checked
from atomic.verdict.facts import Status, StopReason, Verdict
from atomic.verdict.masked import masked
from flows.cli.output import YELLOW, paint, say
from flows.cli.sentences import OWN_MODEL

_NOTHING = Verdict(status=Status.FAILED)  # of a run that has not begun its first attempt


@dataclass(frozen=True, slots=True)
class Explained:
    """``unfinished``: the attempt is at work, and the verdict says only what it did so far. ``run`` is there where a
    whole run is meant, not one of its attempts."""

    title: str
    verdict: Verdict
    masker: Masker = field(repr=False)
    unfinished: bool = False
    run: RunRecord | None = None

    @property
    def running(self) -> bool:
        """Whether more is to come: of the attempt, or of the whole run where that is meant."""
        return self.unfinished or (self.run is not None and _goes_on(self.run))

    def to_json(self) -> Mapping[str, Any]:
        """The object that ``explain --json`` prints. Of a whole run: with its attempts, and ``running`` for its status
        while it is on its way; kind, message and evidence are those of its last attempt."""
        told = explanation(self.verdict, unfinished=self.unfinished)
        if self.running:
            told["status"] = "running"
        if self.run is not None:
            names = {"n", "model", "status", "kind", "message", "answered_by", "carry", "retry_at", "record"}
            told["run_id"] = self.run.run_id
            told["attempts"] = [one.model_dump(mode="json", include=names) for one in self.run.attempts]
        return told


def of_file(stream: Path, exit_code: int | None, stderr: Path | None) -> Explained:
    """The verdict of anybody's stream. Raises PlaceError, RecordDamaged."""
    if stderr is not None and not stderr.is_file():
        raise PlaceError(f"{stderr}: no such file", path=str(stderr), reason="missing")
    masker = masker_for(Agent())
    verdict = read_verdict(stream, exit_code=exit_code, stderr=stderr or "")
    return Explained(str(stream), masked(verdict, masker), masker)


def of_run(what: str, config: Path | None) -> Explained:
    """The verdict of the attempt that RUN/N names, read anew from its stream; of RUN, that of the last one."""
    folder, attempts, masker = find(what, config)
    run = _run_of(folder)
    shown = None if "/" in what else run
    if not attempts:
        if run is not None and _goes_on(run):
            return Explained(folder.run_id, _NOTHING, masker, unfinished=True, run=shown)
        raise RecordDamaged(f"run {folder.run_id} has no attempt", hint="it ended before its first one", path=what)
    attempt = attempts[-1]
    title = f"{folder.run_id}/{attempt.n}"
    try:
        record = attempt.read()
    except RecordDamaged as error:
        say(f"{paint('warning', YELLOW)} {printable(error.message)}; this is what the stream alone says")
        verdict = read_verdict(attempt.stream, stderr=attempt.stderr)
        return Explained(title, masked(verdict, masker), masker, run=shown)
    title += f" · {record.model or OWN_MODEL}"
    unfinished = record.verdict is None and run is not None and _goes_on(run)
    verdict = _verdict_of(attempt, record, unfinished=unfinished)
    return Explained(title, masked(verdict, masker), masker, unfinished=unfinished, run=shown)


def find(text: str, config: Path | None) -> tuple[RunFolder, list[AttemptFolder], Masker]:
    """The run and the attempts that RUN or RUN/N names, and what hides secrets. Raises RunNotFound, UsageError."""
    settings = load_settings(config=config)
    store: RunStore = open_store(settings)
    folder, attempts = find_attempts(store, text)
    return folder, attempts, masker_for(settings.agent.agent())


def _verdict_of(attempt: AttemptFolder, record: AttemptRecord, *, unfinished: bool) -> Verdict:
    # Without a verdict, and nobody at work on it: as recovery will find it.
    stopped = record.verdict.stopped if record.verdict else None if unfinished else StopReason.ORPHANED
    try:
        verdict = read_verdict(attempt.stream, exit_code=record.exit_code, stderr=attempt.stderr, stopped=stopped)
        return checked(verdict, record.verdict.check if record.verdict else None)
    except PlaceError:  # there is no stream: the agent was not started
        if record.verdict is not None:
            return record.verdict
        if unfinished:
            return _NOTHING
        raise RecordDamaged(f"{attempt.path} holds no stream", path=str(attempt.path)) from None


def _run_of(folder: RunFolder) -> RunRecord | None:
    """The run's record; None where it cannot be read: its attempts can be explained all the same."""
    try:
        return folder.read()
    except RecordError:
        return None


def _goes_on(run: RunRecord) -> bool:
    """Whether the run is on its way, as far as can be known here: its owner is not known to be dead."""
    return not run.ended and (run.owner is None or state_of(run.owner) is not OwnerState.DEAD)
