"""One run whose owner died: its processes ended, its attempts given their verdicts, its record closed."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from pathlib import Path

from atomic.checks import Checks
from atomic.errors import AtomicError, RecordDamaged, UsageError
from atomic.failures import FailureKind
from atomic.policy import FallbackPolicy
from atomic.processes import Steady, boot_id
from atomic.record import AttemptFolder, AttemptRecord, RunFolder, RunRecord
from atomic.record.files import remove_unfinished
from atomic.record.layout import DAMAGED_FILE, RUN_FILE, attempt_name
from atomic.record.totals import changes_of, with_attempts
from atomic.recovery.agents import end_processes, follow
from atomic.recovery.facts import Adopt, Ended, RecoveredRun
from atomic.recovery.workspaces import save_changes
from atomic.session.checking import Checking
from atomic.session.overlay import take_away
from atomic.text import Masker
from atomic.verdict import read_verdict
from atomic.verdict.checked import checked
from atomic.verdict.facts import CheckOutcome, CheckReport, Status, StopReason, Verdict
from atomic.verdict.masked import masked

_CUT_OFF = "the process that carried the run out was killed"


async def close_run(folder: RunFolder, *, adopt: Adopt, steady: Steady) -> RecoveredRun | None:
    """Bring a run to its end. None where nothing was left to decide: it had ended and was only not put away, or a kill
    had left it half made. May be called again after a kill at any point. Raises RecordError, PlaceError, OSError."""
    if not folder.path.is_dir():
        return None
    attempts = folder.attempts()
    for path in (folder.path, *(attempt.path for attempt in attempts)):
        remove_unfinished(path)
    if not attempts and not (folder.path / RUN_FILE).exists():
        shutil.rmtree(folder.path)
        return None
    run = _read_run(folder)
    if run.ended:
        await asyncio.to_thread(folder.store.put_away, folder)
        return None
    ended = Ended()
    records = []
    for attempt in attempts:
        record, of_attempt = await _close_attempt(attempt, run, adopt=adopt, steady=steady)
        records.append(record)
        ended += of_attempt
    try:
        records = await asyncio.to_thread(save_changes, folder, records)
    except AtomicError as error:  # the workspace stays, and the next recovery tries again
        run = run.model_copy(update={"warnings": (*run.warnings, f"what it changed is not kept yet: {error.message}")})
    run = _concluded(run, records)
    await asyncio.to_thread(folder.finish, run)
    return RecoveredRun(run=run, folder=str(folder.path), ended=ended)


def _read_run(folder: RunFolder) -> RunRecord:
    """The run's record; where it is damaged, what is known without it, the damaged file being kept beside it. The
    attempts are the truth: their verdicts count, whatever became of the run's own file."""
    try:
        return folder.read()
    except RecordDamaged as error:
        path = folder.path / RUN_FILE
        created_at = _changed(path, folder.path)
        if path.exists():
            path.replace(path.with_name(DAMAGED_FILE))
        return RunRecord(run_id=folder.run_id, created_at=created_at, warnings=(str(error),))


async def _close_attempt(
    folder: AttemptFolder, run: RunRecord, *, adopt: Adopt, steady: Steady
) -> tuple[AttemptRecord, Ended]:
    record = _read_attempt(folder, run)
    if record.ended:
        if folder.stream.exists():
            record = record.model_copy(update={"stream": await asyncio.to_thread(folder.finish)})
            await asyncio.to_thread(folder.write, record)
        return record, Ended()
    stopped = None
    if adopt == "follow" and folder.stream.exists():
        stopped = await follow(record, folder.stream)
    ended = await end_processes(record, steady)
    take_away(folder.overlay)
    ended_at = time.time() if ended.agents else _changed(folder.stream, folder.path)
    masker = folder.store.redact
    if masker is not None:
        await asyncio.to_thread(folder.redact, masker)
    stream = await asyncio.to_thread(folder.finish)
    if stream is None:
        verdict = Verdict(
            status=Status.FAILED,
            kind=FailureKind.INTERRUPTED,
            message=f"{_CUT_OFF} before the agent had started",
            stopped=StopReason.ORPHANED,
        )
    else:
        verdict = await asyncio.to_thread(
            read_verdict, folder.stream, stderr=folder.stderr, stopped=stopped or StopReason.ORPHANED
        )
    checks = _checks(run)
    if checks and verdict.answered:
        verdict = checked(verdict, await _report(verdict.answer or "", checks, folder, record, steady))
    record = record.concluded(
        masked(verdict, masker or Masker.of(os.environ)),
        ended_at=ended_at,
        stream=stream,
        session_file=str(folder.session.relative_to(folder.path)) if folder.session.exists() else None,
        redacted=masker is not None,
    )
    await asyncio.to_thread(folder.write, record)
    return record, ended


async def _report(
    answer: str, checks: Checks, folder: AttemptFolder, record: AttemptRecord, steady: Steady
) -> CheckReport:
    """What the policy's checks say of an answer whose owner was killed before it knew. An answer that was paid for is
    not bought again, nor is it one before it was checked."""
    if not record.cwd:
        return CheckReport(outcome=CheckOutcome.BROKEN, message="unchecked: nobody knows where the agent worked")
    report = await Checking(answer, checks, folder, Path(record.cwd), may_stay=record.may_stay).report(steady)
    if steady.cancelled:
        raise asyncio.CancelledError  # the next start finds it as this one did
    return report


def _checks(run: RunRecord) -> Checks:
    """What the run's policy checks answers by; nothing where its record does not tell."""
    try:
        return Checks.of(FallbackPolicy.model_validate(run.policy))
    except UsageError:
        return Checks()


def _read_attempt(folder: AttemptFolder, run: RunRecord) -> AttemptRecord:
    """The attempt's record, or what is known without it: a kill can fall before it is written."""
    try:
        record = folder.read()
    except RecordDamaged:
        record = AttemptRecord(
            run_id=run.run_id,
            n=folder.n,
            record=attempt_name(folder.n),
            started_at=_changed(folder.path),
            cwd=run.cwd,
        )
    known = {
        "marker": record.marker or folder.marker,
        "boot_id": record.boot_id or (run.owner.boot_id if run.owner else boot_id()),
    }
    return record.model_copy(update=known)


def _concluded(run: RunRecord, attempts: list[AttemptRecord]) -> RunRecord:
    """The run as its attempts leave it: answered by the one that was, else interrupted."""
    ended_at = max((attempt.ended_at or 0.0 for attempt in attempts), default=time.time())
    verdicts = (attempt.verdict for attempt in attempts if attempt.verdict is not None)
    answered = next((verdict for verdict in verdicts if verdict.answered), None)
    if answered is not None:
        outcome = {
            "status": "answered",
            "kind": None,
            "message": answered.message,
            "answer": answered.answer,
            "answered_by": answered.answered_by,
            "warnings": (*run.warnings, f"{_CUT_OFF}; the answer is from the record"),
        }
    else:
        tried = "; ".join(f"attempt {one.n} ({one.model or 'default model'}): {one.kind}" for one in attempts)
        when = f"before it was answered: {tried}" if attempts else "before its first attempt"
        outcome = {
            "status": "failed",
            "kind": FailureKind.INTERRUPTED,
            "message": f"{_CUT_OFF} {when}",
        }
    changes = changes_of(attempts, next((one.n for one in attempts if one.status == "answered"), None))
    return with_attempts(run, attempts).model_copy(update={"ended_at": ended_at, "changes": changes, **outcome})


def _changed(*paths: Path) -> float:
    """When the first of these that exists was last changed, in seconds since the epoch; now where none does."""
    for path in paths:
        try:
            return path.stat().st_mtime
        except OSError:
            continue
    return time.time()
