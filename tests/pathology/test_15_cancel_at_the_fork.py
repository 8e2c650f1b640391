"""Keeps away: a cancel or a kill that falls between the fork and the moment the child is noted: a process that nobody
knows of, which works and costs for hours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from atomic.failures import FailureKind
from atomic.processes import marked
from atomic.recovery import recover
from tests.agents import Place

PROGRAM = """
import asyncio, os, signal, sys
from pathlib import Path
from atomic.processes import Child
from tests.agents import Place

started = Child.__init__
def start_and_die(child, *args, **kwargs):
    started(child, *args, **kwargs)
    os.kill(os.getpid(), signal.SIGKILL)
Child.__init__ = start_and_die
place = Place(Path(sys.argv[1]))
asyncio.run(place.run("exec sleep 1000"))
"""


async def test_the_attempt_is_on_disk_before_its_child_exists(tmp_path: Path) -> None:
    folder = tmp_path / "place"
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(folder)], cwd=Path(__file__).parents[2])
    assert done.returncode == -9
    place = Place(tmp_path / "other")
    place.store = type(place.store)(folder / "records", home=folder / "home", fsync=False)
    (entry,) = place.store.live.entries()
    attempt = place.store.open(entry.run_id).attempt(1)
    assert attempt.read().pid is None, "the kill came before the child was noted"
    assert len(marked([attempt.marker])[attempt.marker]) == 1
    await recover(place.store)
    assert marked([attempt.marker])[attempt.marker] == []
    assert attempt.read().kind is FailureKind.INTERRUPTED
