"""Every example runs as it stands, on the scripted agent."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.flows.prefect_server import Place

EXAMPLES = Path(__file__).parents[2] / "examples"
SAYS = {
    "fallback.py": "answered by other/ok",
    "read_stream.py": "failed: overflow",
    "nightly.py": "Hello from a scripted agent.",
    "own_ladder.py": "Hello from a scripted agent.",
    "batch.py": "4 of 4 answered",
}


def test_each_example_is_tested() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} - {"asked.py"} == set(SAYS)


@pytest.mark.parametrize(("name", "says"), SAYS.items())
def test_it_runs_as_it_stands(place: Place, name: str, says: str) -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLES / name], capture_output=True, text=True, cwd=place.project, env=place.environment()
    )
    assert done.returncode == 0, done.stderr
    assert says in done.stdout
