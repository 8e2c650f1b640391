"""Recovery: what a killed parent left is found by the next start. A finished answer is never bought twice.

Only runs whose owner is dead on this machine are touched; those of another machine are left alone, and nothing that
another boot wrote down is taken for alive or signalled.
"""

from __future__ import annotations

import asyncio

from atomic.errors import AtomicError, UsageError
from atomic.processes import Steady
from atomic.record import Claim, RunFolder, RunStore
from atomic.record.files import LockTaken
from atomic.recovery.dead import dead_runs
from atomic.recovery.facts import Adopt, Ended, Recovered, RecoveredRun
from atomic.recovery.runs import close_run
from atomic.recovery.workspaces import remove_left

__all__ = ["Adopt", "Ended", "Recovered", "RecoveredRun", "claim", "recover", "recover_run"]

_CLAIM_PATIENCE = 30.0  # seconds a claim waits for another process that is recovering the key's run
_CLAIM_POLL = 0.1


async def recover(store: RunStore, *, adopt: Adopt = "stop") -> Recovered:
    """Bring to their ends all runs whose owner died on this machine, and move what waits to be moved.

    ``adopt``: an agent that still runs is stopped, or followed to its end within its limits. Where several processes
    recover at once, each run is recovered by one of them, and told by that one. A few milliseconds when there is
    nothing to do. What fails is in ``failures``, and is tried again by the next recovery.
    """
    folders = await asyncio.to_thread(dead_runs, store)
    found = await asyncio.gather(*(_recover(folder, adopt) for folder in folders))
    workspaces, kept = await asyncio.to_thread(remove_left, store)  # before runs are moved elsewhere with their patches
    moved, unmoved = await asyncio.to_thread(store.move_pending)
    return Recovered(
        runs=tuple(one for one in found if isinstance(one, RecoveredRun)),
        moved=moved,
        workspaces=workspaces,
        failures=(*(one for one in found if isinstance(one, str)), *map(str, unmoved), *kept),
    )


async def _recover(folder: RunFolder, adopt: Adopt) -> RecoveredRun | str | None:
    """What became of one run; the reason where it could not be recovered; None where another process has it."""
    try:
        return await recover_run(folder, adopt=adopt)
    except LockTaken:
        return None
    except AtomicError as error:
        return str(error)
    except OSError as error:
        return f"{folder.path}: {error}"


async def recover_run(folder: RunFolder, *, adopt: Adopt = "stop") -> RecoveredRun | None:
    """Bring one run to its end whose owner is dead. None where nothing was left to decide. A cancel is passed on when
    its processes are ended. Raises LockTaken while another process recovers it, RecordError, PlaceError."""
    steady = Steady()
    with folder.store.live.closing(folder.run_id):
        found = await close_run(folder, adopt=adopt, steady=steady)
    if steady.cancelled:
        raise asyncio.CancelledError
    return found


async def claim(store: RunStore, key: str, *, adopt: Adopt = "stop") -> Claim:
    """Take a key of idempotence, as ``RunStore.claim`` does; a run of it whose owner died is recovered first, so that
    an answer that was there when the owner was killed is found and not bought again. The claim has no orphan.
    Raises UsageError where the key's run is on its way, or is being recovered by another process for long."""
    loop = asyncio.get_running_loop()
    until = loop.time() + _CLAIM_PATIENCE
    while True:
        claimed = await asyncio.to_thread(store.claim, key)
        if claimed.orphan is None:
            return claimed
        try:
            await recover_run(store.open(claimed.orphan), adopt=adopt)
        except LockTaken as error:
            if loop.time() > until:
                raise UsageError(
                    f"key {key!r}: run {claimed.orphan} is being recovered by another process",
                    hint="wait for it, or use another key",
                    key=key,
                    run_id=claimed.orphan,
                ) from error
            await asyncio.sleep(_CLAIM_POLL)
