"""The short form of chaos on single runs. A failure names its seed: `python -m tests.chaos.single --seed S`."""

from __future__ import annotations

import secrets
from pathlib import Path

from tests.chaos.ground import scripted
from tests.chaos.single import one_round

ROUNDS = 6


def test_a_kill_at_any_moment_loses_nothing_and_buys_nothing_twice(tmp_path: Path) -> None:
    seed = secrets.randbelow(10**6)
    print(f"seed {seed}")  # shown where a round raises something that does not name it
    with scripted(tmp_path) as ground:
        for n in range(1, ROUNDS + 1):
            one_round(ground, n, seed)
