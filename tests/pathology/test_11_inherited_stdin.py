"""Keeps away: an open stdin that the agent inherits: it reads it to an end that never comes, and prints nothing."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.agents import Place


async def test_stdin_is_never_inherited(place: Place) -> None:
    code = (
        "import asyncio, sys; from pathlib import Path; from tests.agents import Place, answer\n"
        "place = Place(Path(sys.argv[1]))\n"
        "record = asyncio.run(place.run('cat > prompt\\n' + answer()))\n"
        "print(record.status, (place.work / 'prompt').read_bytes())"
    )
    # Its own stdin is a pipe that nobody writes to or closes: an agent that inherited it would wait for ever.
    runner = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", code, str(place.folder / "inner")),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert runner.stdout is not None
    assert await runner.stdout.read() == b"answered b'hello'\n"
    await runner.wait()
