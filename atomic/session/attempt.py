"""One session from its start to its end, whatever happens to it or to whoever waits for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

from atomic.errors import AtomicError
from atomic.failures import FailureKind
from atomic.processes import Child, Steady, Swept
from atomic.record.facts import AttemptRecord, StreamFile
from atomic.record.files import place_error
from atomic.record.layout import SESSION_FILE, SESSION_FOLDER
from atomic.record.restore import made_whole
from atomic.session.checking import Checking
from atomic.session.facts import AttemptSpec, Progress
from atomic.session.leftovers import end_leftovers
from atomic.session.live import Live
from atomic.session.overlay import take_away
from atomic.session.prepare import Prepared, opened, prepare
from atomic.verdict.checked import checked
from atomic.verdict.facts import CheckReport, Status, StopReason, Verdict
from atomic.verdict.masked import masked
from atomic.verdict.read import ends_of

# Bytes of a stream that is put to rest on the loop itself: quicker than handing it to a thread and hearing of it.
SMALL = 256 * 1024

T = TypeVar("T")


async def run_attempt(spec: AttemptSpec, *, on_progress: Callable[[Progress], None] | None = None) -> AttemptRecord:
    """Run one session to its end, and return its record with the verdict, as ``attempt.json`` then has it.

    Whatever ends it, when this returns or raises no process of the attempt is left but those that may stay. A cancel
    stops the agent, sweeps up its processes, writes the verdict, and is raised then; further ones meanwhile change
    nothing. All waiting on the way out has a bound.

    Raises PlaceError, RecordError or SettingsError for what stands against it before the agent starts, and for a disk
    that does not take the record. An agent that cannot be started is a failed attempt of kind ``configuration``.
    """
    prepared = prepare(spec)
    steady = Steady()
    with opened(spec.folder) as streams:
        try:
            live = Live(spec, prepared.record, prepared.masker, on_progress)
        except OSError as error:
            raise place_error(error, spec.folder.stream, "follow") from error
        try:
            child = Child(
                prepared.argv,
                env=prepared.env,
                cwd=spec.cwd,
                stdin=streams.stdin,
                stdout=streams.stdout,
                stderr=streams.stderr,
            )
        except (OSError, ValueError) as error:
            try:
                return await _conclude(spec, live, _not_started(prepared, error), steady)
            finally:
                live.close()
    failure: BaseException | None = None
    stopped: StopReason | None = StopReason.CANCELLED
    try:
        # From here to the first await nothing can be cancelled, and from there on nothing is lost by it.
        live.begin(child)
        _note(spec, live.record)
        stopped = await live.over
    except asyncio.CancelledError:
        steady.cancelled = True
    except OSError as error:
        failure = place_error(error, spec.folder.stream, "follow")
    except BaseException as error:  # noqa: BLE001 - it is raised when nothing is left of the session
        failure = error
    try:
        record = await _end(spec, live, child, stopped, steady)
    except OSError as error:
        raise place_error(error, spec.folder.path, "conclude the attempt in") from error
    finally:
        live.close()
        if failure is not None:
            raise failure
    if steady.cancelled:
        raise asyncio.CancelledError
    return record


async def _end(
    spec: AttemptSpec, live: Live, child: Child, stopped: StopReason | None, steady: Steady
) -> AttemptRecord:
    """Stop what runs, read what is left, and write the verdict."""
    live.stopping = True
    await child.stop(steady, grace=spec.grace)
    descendants = live.descendants()
    sweeps = spec.agent.leftover == "kill" or stopped not in (None, StopReason.SETTLED)
    swept = await end_leftovers(live.kin, steady, sweeps=sweeps, may_stay=spec.agent.may_stay)
    exit_code = child.exited.result() if child.exited.done() else None
    child.reap()
    await live.read_to_end(steady)
    verdict = live.fold.finish(
        live.framer.stats,
        exit_code=exit_code,
        stderr=ends_of(spec.folder.stderr),
        stopped=stopped,
        now=time.time(),
        first_event_at=live.first_event_at,
        first_token_at=live.first_token_at,
    )
    live.record = live.record.model_copy(update={"descendants": descendants})
    if spec.checks and verdict.answered:
        verdict = checked(verdict, await _check(spec, live, verdict.answer or "", steady))
    return await _conclude(spec, live, _with_warnings(verdict, child, swept), steady)


async def _check(spec: AttemptSpec, live: Live, answer: str, steady: Steady) -> CheckReport:
    """Put the answer to the checks. Until they have spoken nothing on record says that it was an answer."""
    live.check()
    checking = Checking(
        answer,
        spec.checks,
        spec.folder,
        spec.cwd,
        sweeps=spec.agent.leftover == "kill",
        may_stay=spec.agent.may_stay,
        grace=spec.grace,
        begun=live.note,
    )
    return await checking.report(steady)


def _note(spec: AttemptSpec, record: AttemptRecord) -> None:
    """Write down whose process the agent is. Raises PlaceError, RecordError."""
    try:
        spec.folder.write(record)
    except AtomicError:
        if spec.folder.path.is_dir():
            raise
        # The agent was quick to take its folder away, which is made again at its end.


async def _conclude(spec: AttemptSpec, live: Live, verdict: Verdict, steady: Steady) -> AttemptRecord:
    """Put the stream to rest and write the final ``attempt.json``."""

    def conclude() -> AttemptRecord:
        if spec.agent.settings:
            take_away(spec.folder.overlay)
        lost = made_whole(spec.folder, spec.prompt, live.stream, read=live.framer.stats.bytes)
        said = masked(verdict.warned(*lost), live.masker)
        stream: StreamFile | None = None
        redacted = False
        try:
            if spec.folder.store.redact is not None:
                said = said.moved(spec.folder.redact(live.masker, (one.line for one in said.evidence)))
                redacted = True
            stream = spec.folder.finish()
        except AtomicError as error:
            # The stream is still there as it was written: the verdict is worth more than its compression.
            said = said.warned(error.message)
        record = live.record.concluded(
            said,
            ended_at=time.time(),
            stream=stream,
            session_file=f"{SESSION_FOLDER}/{SESSION_FILE}" if spec.folder.session.exists() else None,
            redacted=redacted,
        )
        spec.folder.write(record)
        return record

    if not spec.folder.durable and live.framer.stats.bytes <= SMALL:
        return conclude()
    return await steady.result(asyncio.get_running_loop().run_in_executor(None, conclude))


def _with_warnings(verdict: Verdict, child: Child, swept: Swept) -> Verdict:
    warnings = [
        f"process {process.pid}, left over by a tool, could not be ended"
        for process in swept.survived
        if process != child.id
    ]
    if not child.exited.done():
        warnings.append(f"the agent (process {child.pid}) hangs in the system and could not be ended")
    return verdict.warned(*warnings)


def _not_started(prepared: Prepared, error: OSError | ValueError) -> Verdict:
    return Verdict(
        status=Status.FAILED,
        kind=FailureKind.CONFIGURATION,
        message=f"the agent could not be started: {prepared.argv[0]}: {getattr(error, 'strerror', None) or error}",
    )
