"""Flow runs of which Prefect's server may not know the end: notes in the home, which stay until it has been told.

Without Prefect, so that whoever recovers a run can leave a note: the next one who talks to the server settles it.
"""

from __future__ import annotations

import time
from pathlib import Path

from atomic.record import Owner, RunStore
from atomic.record.files import encode, make_folder, write_file
from atomic.recovery import Adopt, Recovered, recover
from atomic.verdict.facts import Facts

NOTES = "unsettled"  # in the home


class Unsettled(Facts):
    """A flow run of which the server may not know the end."""

    run_id: str
    flow_run_id: str
    noted_at: float
    owner_tells: bool = False  # the process that carries the run out tells the server itself, as long as it lives


class Begun(Facts):
    """A call that begins flow runs, which carry the tag; see :mod:`flows.begun`."""

    tag: str
    owner: Owner
    api: str  # the server's address
    noted_at: float


def note_unsettled(home: Path, *, run_id: str, flow_run_id: str, owner_tells: bool = False) -> None:
    """Leave a note. Raises PlaceError, RecordError."""
    note = Unsettled(run_id=run_id, flow_run_id=flow_run_id, noted_at=time.time(), owner_tells=owner_tells)
    make_folder(home / NOTES)
    write_file(home / NOTES / f"{flow_run_id}.json", encode(note.model_dump(mode="json")))


def forget_unsettled(home: Path, *, flow_run_id: str) -> None:
    """Remove the note: the server has been told."""
    (home / NOTES / f"{flow_run_id}.json").unlink(missing_ok=True)


def is_unsettled(home: Path, *, flow_run_id: str) -> bool:
    """Whether there is a note about this flow run."""
    return (home / NOTES / f"{flow_run_id}.json").exists()


def notes_in(home: Path) -> list[Path]:
    """The notes that are left."""
    return sorted((home / NOTES).glob("*.json"))


async def recover_and_note(store: RunStore, *, adopt: Adopt = "stop") -> Recovered:
    """:func:`atomic.recovery.recover`, with a note for each flow run whose end it found."""
    found = await recover(store, adopt=adopt)
    for one in found.runs:
        if one.run.flow_run_id:
            note_unsettled(store.home, run_id=one.run.run_id, flow_run_id=one.run.flow_run_id)
    return found
