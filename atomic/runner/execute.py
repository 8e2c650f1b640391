"""One run, from its key to its record."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import AbstractContextManager, ExitStack, nullcontext

from atomic.errors import AtomicError
from atomic.record import RunRecord, RunStore
from atomic.recovery import claim
from atomic.runner.facts import RunRequest, RunResult
from atomic.runner.live import LiveRun
from atomic.runner.recording import create_run, recorded_result, refuse_another
from atomic.runner.seams import KeyIsBad, OnEvent, RunAttempt, Seams
from atomic.session import run_attempt as run_session


async def execute(
    request: RunRequest,
    *,
    store: RunStore,
    run_attempt: RunAttempt = run_session,
    on_event: OnEvent | None = None,
    flow_run_id: str | None = None,
    cooldowns: MutableMapping[str, float] | None = None,
    key_is_bad: KeyIsBad | None = None,
    clock: Callable[[], float] = time.time,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> RunResult:
    """Carry a run out and record it. A key that has been answered gives the recorded answer, and starts nothing.

    ``run_attempt`` carries out each attempt. ``on_event`` is told what happens; what it raises becomes a warning.
    ``cooldowns`` may be shared between runs: keys of :mod:`atomic.policy.cooldowns`, times until which they hold.
    ``key_is_bad`` asks a provider whether it refuses the credential of a model that failed for `auth`; without it no
    credential cools down. ``clock`` gives seconds since the epoch, ``sleep`` waits for seconds.

    Raises UsageError for a key whose run is on its way, or was answered and had another prompt or folder, PlaceError or
    RecordError where the record cannot be written.
    When cancelled, the run is recorded as cancelled (as answered, where the attempt already had its answer), and the
    CancelledError goes on.
    """
    if request.key is not None:
        answered = await _claimed(store, request.key)
        if answered is not None:
            await asyncio.to_thread(refuse_another, store, answered, request)
            return await asyncio.to_thread(recorded_result, store, answered)
    seams = Seams(run_attempt, on_event, {} if cooldowns is None else cooldowns, key_is_bad, clock, sleep)
    with ExitStack() as occupied:
        try:
            named = occupied.enter_context(occupying(store, request))
        except AtomicError:
            if request.key is not None:
                store.release(request.key)
            raise
        folder = create_run(store, request, flow_run_id)
        named(f"run {folder.run_id}")
        return await LiveRun(request, store, folder, seams).to_its_end()


def occupying(store: RunStore, request: RunRequest) -> AbstractContextManager[Callable[[str], None]]:
    """Within, the run's folder is worked in, if it has none of its own. A batch sees to that for all its items. Raises
    FolderBusy."""
    if request.batch is not None or request.workspace is not None:
        return nullcontext(lambda _: None)
    return store.occupants.at_work("a run", (request.cwd,), shared=request.shared)


async def _claimed(store: RunStore, key: str) -> RunRecord | None:
    """The answered run that the key stands for; None when the key is now this run's. A cancel leaves no key taken."""
    claiming = asyncio.ensure_future(claim(store, key))
    try:
        return (await asyncio.shield(claiming)).answered
    except asyncio.CancelledError:
        await asyncio.wait([claiming])
        if not claiming.cancelled() and claiming.exception() is None and claiming.result().answered is None:
            store.release(key)
        raise
