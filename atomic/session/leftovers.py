"""What is left of a session, or of a check, when its first process has ended."""

from __future__ import annotations

from collections.abc import Collection

from atomic.processes import Kin, ProcessId, Steady, Swept, adoption, find, sweep


async def end_leftovers(kin: Kin, steady: Steady, *, sweeps: bool, may_stay: Collection[str]) -> Swept:
    """End what was left; where nothing is to be swept up, let it be, and so whatever orphans may come of it."""
    swept = Swept((), (), ())
    stay: frozenset[ProcessId] = frozenset()
    adopted = adoption()
    try:
        if sweeps:
            swept = await sweep(kin, steady, may_stay=may_stay)
            stay = frozenset(swept.stayed)
        elif adopted is not None:
            found = await steady.result(find(kin))
            stay = kin.seen | found.shared
    finally:
        if adopted is not None:
            adopted.leave(kin, stay)
    return swept
