"""Keeps away: zombies pile up where the toolkit is the first process of a container."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.agents import Place, answer


@pytest.fixture
def no_child_left() -> Iterator[None]:
    before = set(psutil.Process().children())
    yield
    assert set(psutil.Process().children()) - before == set()  # the dead that were not reaped are among them


@pytest.mark.usefixtures("no_child_left")
async def test_no_zombie_is_left(place: Place) -> None:
    for script in (answer(), "exit 3", "kill -9 $$", "sleep 1000 &\n" + answer()):
        await place.run(script)


async def test_orphans_that_this_process_inherits_are_reaped(place: Place) -> None:
    # The first process of a container inherits every orphan; so does one that asks for it.
    code = (
        "import asyncio, ctypes, os, sys; from pathlib import Path; from tests.agents import Place, answer\n"
        "assert ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0\n"  # PR_SET_CHILD_SUBREAPER
        "place = Place(Path(sys.argv[1]))\n"
        "script = 'setsid sleep 1000 &\\n(sleep 1000 &)\\n' + answer()\n"
        "record = asyncio.run(place.run(script))\n"
        "try:\n    left = os.waitpid(-1, os.WNOHANG)\n"
        "except ChildProcessError:\n    left = 'none'\n"
        "print(record.status, left)"
    )
    runner = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", code, str(place.folder / "inner")),
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert runner.stdout is not None
    assert await runner.stdout.read() == b"answered none\n"
    await runner.wait()
