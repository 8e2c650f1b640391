"""A run while it lives: decide, attempt, record, again."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from atomic.checks import Checks
from atomic.errors import PlaceError, RecordError, WorkspaceError
from atomic.failures import FailureKind
from atomic.models import ModelRef
from atomic.policy import Attempted, End, Move, Start, Step, cools, decide
from atomic.policy.endings import name_of
from atomic.policy.prompts import prompt_of
from atomic.record import AttemptRecord, AttemptSummary, RunFolder, RunRecord, RunStore
from atomic.record.restore import made_again
from atomic.record.totals import with_attempts
from atomic.runner.costs import can_be_priced, left_of, priced
from atomic.runner.facts import (
    AttemptEnded,
    AttemptProgress,
    AttemptStarted,
    RunEnded,
    RunEvent,
    RunRequest,
    RunResult,
    RunStarted,
    Waiting,
)
from atomic.runner.recording import kept, run_place
from atomic.runner.results import concluded, result_of, verdicts_of
from atomic.runner.seams import Seams
from atomic.runner.whole import whole
from atomic.runner.workplace import Workplace
from atomic.session import AttemptSpec


class LiveRun:
    """One run. ``run.json`` follows every step of it."""

    def __init__(self, request: RunRequest, store: RunStore, folder: RunFolder, seams: Seams) -> None:
        self._request = request
        self._store = store
        self._folder = folder
        self._seams = seams
        self._record = folder.read()
        self._attempts: list[AttemptRecord] = []
        self._seen: list[Attempted] = []  # the same attempts, as `decide` sees them
        self._warnings: list[str] = []
        self._workplace = Workplace(request, store, folder)

    async def to_its_end(self) -> RunResult:
        """Step by step, until the policy ends the run or something ends it from outside."""
        models, place = self._request.policy.models, str(self._folder.path)
        self._tell(RunStarted(self._folder.run_id, self._request.name, models, place))
        waited = 0.0
        try:
            while True:
                step = await self._next(waited)
                if isinstance(step, End):
                    return await self._finish(step)
                if isinstance(step, Start):
                    await self._attempt(step)
                    continue
                self._write(self._record)
                self._tell(Waiting(step.until, step.reason))
                pause = max(0.0, step.until - self._seams.clock())
                await self._seams.sleep(pause)
                waited += pause
        except asyncio.CancelledError:
            await self._broken_off(FailureKind.CANCELLED, "the run was cancelled")
            raise
        except Exception as error:
            await self._broken_off(FailureKind.UNKNOWN, f"the run broke off: {error}")
            usage = (PlaceError, WorkspaceError) if self._attempts else PlaceError
            if isinstance(error, usage):  # which would say that nothing was spent
                raise RecordError(error.message, hint=error.hint, **error.fields) from error
            raise

    async def _next(self, waited: float) -> Step:
        policy = self._request.policy
        now = self._seams.clock()
        if self._request.wait_until is not None:
            policy = policy.waiting(self._request.wait_until - now + waited)
        windows: dict[str, int] = {}
        if self._seen and policy.rule(self._seen[-1].kind).then is Move.LARGER_WINDOW:
            windows = await asyncio.to_thread(_windows, self._request)
        return decide(policy, self._seen, self._seams.cooldowns, now, windows=windows, waited=waited)

    async def _attempt(self, step: Start) -> None:
        request, n = self._request, len(self._attempts) + 1
        self._record = await self._workplace.ready(self._record, carry=step.carry)
        spec = AttemptSpec(
            folder=self._folder.attempt(n),
            run_id=self._folder.run_id,
            n=n,
            agent=self._workplace.agent,
            model=step.model,
            cwd=self._workplace.cwd,
            workspace=self._workplace.folder,
            prompt=prompt_of(request.prompt, request.policy, step, self._seen),
            limits=left_of(request.policy.limits, verdicts_of(self._attempts)),
            carry_from=None if step.carry_from is None else self._folder.attempt(step.carry_from).session,
            checks=Checks.of(request.policy),
        )
        model = None if step.model is None else str(step.model)
        begun = AttemptSummary(n=n, model=model, carry=step.carry, record=spec.folder.path.name)
        self._write(self._record.model_copy(update={"attempts": (*self._record.attempts, begun)}))
        self._tell(AttemptStarted(n, model, step.carry, step.reason))
        watched = self._seams.on_event is not None
        on_progress = (lambda progress: self._tell(AttemptProgress(progress))) if watched else None
        attempt = await self._seams.run_attempt(spec, on_progress=on_progress)
        await self._take(attempt, step)

    async def _take(self, attempt: AttemptRecord, step: Start) -> None:
        """Make an attempt that was carried out part of the run."""
        verdict = attempt.verdict
        if verdict is None:
            raise RecordError(f"attempt {attempt.n} came back without a verdict", path=str(self._folder.path))
        if can_be_priced(verdict):
            verdict = await asyncio.to_thread(priced, verdict, step.model, self._request.catalog)
            attempt = attempt.model_copy(update={"verdict": verdict})
            await asyncio.to_thread(self._folder.attempt(attempt.n).write, attempt)
        self._attempts = await self._workplace.changed([*self._attempts, attempt])
        self._seen.append(
            Attempted(
                n=attempt.n,
                model=step.model,
                verdict=verdict,
                ended_at=self._seams.clock() if attempt.ended_at is None else attempt.ended_at,
                carried=step.carry,
                has_session=attempt.session_file is not None,
            )
        )
        # Not written yet: the step that follows at once, be it an attempt, a wait or the end, does so. Until then the
        # attempt's own file says it.
        self._record = with_attempts(self._record, self._attempts)
        self._tell(AttemptEnded(attempt.n, attempt.model, verdict))
        if not verdict.answered:
            await self._cool(self._seen[-1])

    async def _cool(self, last: Attempted) -> None:
        bad = last.kind is FailureKind.AUTH and await self._key_is_bad(last.model)
        cooled = cools(self._request.policy, self._seen, key_is_bad=bad)
        if cooled is not None:
            key, until = cooled
            self._seams.cooldowns[key] = max(until, self._seams.cooldowns.get(key, 0))

    async def _key_is_bad(self, model: ModelRef | None) -> bool:
        if self._seams.key_is_bad is None or model is None:
            return False
        try:
            return await self._seams.key_is_bad(model)
        except Exception as error:  # noqa: BLE001 - what cannot be asked is not confirmed
            self._warnings.append(f"could not ask whether the key of {name_of(model)} is good: {error}")
            return False

    async def _finish(self, end: End) -> RunResult:
        now = self._seams.clock()
        self._see_that_it_is_there()
        self._attempts = await self._workplace.changed(self._attempts)
        warnings = [*self._warnings, *self._workplace.warnings]
        self._record = concluded(self._record, self._attempts, end, ended_at=now, warnings=warnings)
        # In a thread: it is forced to the disk, and may be moved to another machine.
        await whole(lambda: self._folder.finish(self._record))
        await self._workplace.close()
        place = run_place(self._store, self._folder)
        result = result_of(self._record, verdicts_of(self._attempts), place)
        self._tell(RunEnded(result, self._record, tuple(self._attempts)))
        return result

    async def _broken_off(self, kind: FailureKind, message: str) -> None:
        """End a run that its policy did not end: with the answer, where the attempt at work had one. Whatever fails
        here must not hide what broke it off, and is left to recovery."""
        if self._record.ended:
            return
        try:
            self._take_the_one_at_work()
            answer = next((one.n for one in self._attempts if one.verdict is not None and one.verdict.answered), None)
            await self._finish(End("failed", kind, message) if answer is None else End("answered", None, "", answer))
        except (Exception, asyncio.CancelledError):  # noqa: BLE001
            return

    def _take_the_one_at_work(self) -> None:
        n = len(self._attempts) + 1
        if len(self._record.attempts) == n:
            with suppress(RecordError):  # it may not have got as far as its first file
                self._attempts.append(self._folder.attempt(n).read())

    def _see_that_it_is_there(self) -> None:
        if made_again(self._folder, kept(self._store, self._request.prompt), self._attempts):
            self._warnings.append(f"{self._folder.path} was removed during the run, and was made again")

    def _write(self, record: RunRecord) -> None:
        self._see_that_it_is_there()
        self._record = record
        self._folder.write(record)

    def _tell(self, event: RunEvent) -> None:
        if self._seams.on_event is None:
            return
        try:
            self._seams.on_event(event)
        except Exception as error:  # noqa: BLE001 - whoever watches a run must not break it
            self._warnings.append(f"on_event raised {type(error).__name__}: {error}")


def _windows(request: RunRequest) -> dict[str, int]:
    known = {model.name: request.catalog.window(model) for model in request.policy.models}
    return {name: window for name, window in known.items() if window is not None}
