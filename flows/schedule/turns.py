"""Whose turn it is: which edition a scheduled run carries out, or why it carries out none. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from flows.batch.stopping import TERMINATED
from flows.database import EditionState
from flows.database.editions import DIED
from flows.database.ownership import in_words
from flows.schedule.facts import Overlap
from flows.schedule.times import edition_of, moment_of

CUT_OFF = frozenset({DIED, TERMINATED})  # why an edition stopped that nobody wanted to stop


@dataclass(frozen=True, slots=True)
class Due:
    """A flow run whose time has come. ``at`` is that time; ``by_hand``: no schedule made it; ``following`` is the next
    scheduled time, None where there is none; ``edition`` names one to go on with; ``waited``: it was there in time, and
    has waited for the one before."""

    at: float
    following: float | None
    by_hand: bool = False
    edition: str | None = None
    waited: bool = False


@dataclass(frozen=True, slots=True)
class Begin:
    """Carry this edition out."""

    edition: str


@dataclass(frozen=True, slots=True)
class Queue:
    """Wait until the one that runs has ended."""


@dataclass(frozen=True, slots=True)
class Pass:
    """Carry nothing out. ``state`` is what the flow run is called then."""

    edition: str
    state: Literal["Missed", "Skipped"]
    reason: str


def is_missed(at: float, following: float | None, late: float, now: float) -> bool:
    """Whether a scheduled time can no longer be begun: it is too long ago, or the next one is due."""
    return now - at > late or (following is not None and now >= following)


def whose_turn(
    due: Due, overlap: Overlap, late: float, editions: Sequence[EditionState], now: float
) -> Begin | Queue | Pass:
    """What a flow run does. ``editions`` are those of the batch, the newest first; only one of them can be alive."""
    edition = due.edition or _by_hand(due, editions) or edition_of(due.at)
    by_clock = not due.by_hand and due.edition is None
    running = next((one for one in editions if one.alive), None)
    over = due.following is not None and now >= due.following
    if running is None and due.waited and over:
        return Pass(edition, "Skipped", "the edition before ran until the next one was due")
    if running is None and by_clock and not due.waited and is_missed(due.at, due.following, late, now):
        return Pass(edition, "Missed", f"it was due {round(now - due.at)} s ago: nobody carried it out then")
    if running is None:
        return Begin(edition)
    who = in_words(running.owner) if running.owner else "somebody"
    if overlap == "skip" or due.edition is not None:
        return Pass(edition, "Skipped", f"edition {running.name} is running: {who} carries it out")
    if over:
        return Pass(edition, "Skipped", f"edition {running.name} ran until the next one was due: {who} carries it out")
    return Queue()


def _by_hand(due: Due, editions: Sequence[EditionState]) -> str | None:
    """Whoever presses a button goes on with what is left, where something is."""
    newest = _newest(editions)
    return newest.name if due.by_hand and newest is not None and newest.status == "stopped" else None


def cut_off(editions: Sequence[EditionState], following: float | None, now: float) -> EditionState | None:
    """The edition to go on with at once, because its process died or was ended with the machine: the newest, while the
    next scheduled time has not come. ``following`` is that of the edition."""
    newest = _newest(editions)
    if newest is None or any(one.alive for one in editions) or (following is not None and now >= following):
        return None
    if newest.status == "running" or (newest.status == "stopped" and newest.reason in CUT_OFF and newest.counts.left):
        return newest
    return None


def left_behind(editions: Sequence[EditionState], following: float | None, now: float) -> EditionState | None:
    """The edition that was cut off with something left, and that nobody goes on with by himself, because the next
    scheduled time has come or its edition has begun. ``following`` is that of the newest. Only the two newest count."""
    begun = [one for one in editions if one.status != "skipped"][:2]
    over = following is not None and now >= following
    for n, one in enumerate(begun):
        died = one.status == "running" or (one.status == "stopped" and one.reason in CUT_OFF)
        if died and not one.alive and one.counts.left and (n > 0 or over):
            return one
    return None


def last_moment(editions: Sequence[EditionState]) -> float | None:
    """The scheduled time of the newest edition that has one."""
    moments = [moment for one in editions if (moment := moment_of(one.name)) is not None]
    return max(moments, default=None)


def _newest(editions: Sequence[EditionState]) -> EditionState | None:
    return next((one for one in editions if one.status != "skipped"), None)
